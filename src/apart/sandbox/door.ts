import { sandboxAcknowledge } from './acknowledge.ts';
import { sandboxFinish, sandboxNotificationHistory, sandboxSubscriptionStatus, sandboxTransaction } from './apple-api.ts';
import { sandboxAppleRevoke, sandboxAppleToken } from './apple-id.ts';
import { sandboxConsume } from './consume.ts';
import { sandboxDecodeIntegrityToken } from './decode-integrity-token.ts';
import { sandboxIssue } from './issue.ts';
import { sandboxJwks } from './jwks.ts';
import { sandboxProductPurchase } from './product-purchase.ts';
import { sandboxSubscription } from './subscription.ts';
import { sandboxToken } from './token.ts';
import { sandboxVoidedPurchases } from './voided-purchases.ts';
import type { Endpoint } from '../../server/http/endpoint.ts';
import type { ServicesWithStore } from './sandbox-services.ts';

export { Sandbox } from './sandbox.ts';

/** All endpoints of the sandbox: the first issues tokens, the others stand in for Google's and Apple's endpoints. */
export const endpoints: readonly Endpoint<ServicesWithStore>[] = [
  sandboxIssue,
  sandboxJwks,
  sandboxToken,
  sandboxSubscription,
  sandboxAcknowledge,
  sandboxProductPurchase,
  sandboxConsume,
  sandboxVoidedPurchases,
  sandboxDecodeIntegrityToken,
  sandboxTransaction,
  sandboxSubscriptionStatus,
  sandboxFinish,
  sandboxNotificationHistory,
  sandboxAppleToken,
  sandboxAppleRevoke,
];
