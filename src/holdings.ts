import type { Holding } from './accounts/holdings.ts';
import { accountHolding } from './accounts/account-holding.ts';
import { coinHolding } from './features/coins/holdings.ts';
import { entitlementHolding } from './features/entitlement/holdings.ts';
import { scoreHolding } from './features/highscores/holdings.ts';
import { nameHolding } from './features/names/holdings.ts';
import { purchaseHolding } from './features/purchases/coins/holdings.ts';
import { noteHolding } from './features/notes/holdings.ts';
import { seatHolding } from './features/rooms/holdings.ts';
import { saveHolding } from './features/saves/holdings.ts';
import { sessionHolding } from './features/sessions/holdings.ts';
import { guestMoveHolding } from './features/guest-moves/holdings.ts';
import { installProofHolding } from './features/install-proof/holdings.ts';
import { signInHolding } from './features/sign-in/holdings.ts';
import { subscriptionHolding } from './features/purchases/subscription/holdings.ts';
import { trialHolding } from './features/trial/holdings.ts';

/**
 * All holdings: all data that is stored of an account, by feature. Moves, deletions, the export, the operator's view and the audit go
 * through this list in its order.
 */
export const holdings = [
  accountHolding,
  signInHolding,
  installProofHolding,
  guestMoveHolding,
  sessionHolding,
  trialHolding,
  entitlementHolding,
  nameHolding,
  noteHolding,
  scoreHolding,
  seatHolding,
  saveHolding,
  subscriptionHolding,
  purchaseHolding,
  coinHolding,
] as const satisfies readonly Holding[];
