import { sandboxAcknowledge } from './google/acknowledge.ts';
import { sandboxFinish, sandboxNotificationHistory, sandboxSubscriptionStatus, sandboxTransaction } from './apple/api.ts';
import { sandboxAppleRevoke, sandboxAppleToken } from './apple/apple-id.ts';
import { sandboxConsume } from './google/consume.ts';
import { sandboxDecodeIntegrityToken } from './google/decode-integrity-token.ts';
import { sandboxIssue } from './issue.ts';
import { sandboxJwks } from './jwks.ts';
import { sandboxProductPurchase } from './google/product-purchase.ts';
import { sandboxSubscription } from './google/subscription.ts';
import { sandboxToken } from './google/token.ts';
import { sandboxVoidedPurchases } from './google/voided-purchases.ts';
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
