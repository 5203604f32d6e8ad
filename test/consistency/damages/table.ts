import { boardDamages } from './boards.ts';
import type { Damages } from './data.ts';
import { deviceDamages } from './devices.ts';
import { ledgerDamages } from './ledgers.ts';
import { lifeDamages } from './lives.ts';
import { moveDamages } from './moves.ts';
import { purchaseDamages } from './purchases.ts';
import { roomDamages } from './rooms.ts';
import { subscriptionDamages } from './subscriptions.ts';

/** Damages that do not touch each other, so that one audit finds all of them. `alone.ts` has the others. */
export const damages: Damages = {
  ...ledgerDamages,
  ...moveDamages,
  ...boardDamages,
  ...purchaseDamages,
  ...subscriptionDamages,
  ...roomDamages,
  ...lifeDamages,
  ...deviceDamages,
};
