import { opensAccount } from '../../accounts/prologues.ts';
import { DueQueue } from '../../redis/due-queue.ts';
import { defineScript } from '../../redis/script.ts';
import { accountKey, movesKey } from '../../accounts/keys.ts';
import { type Caller } from '../../server/identity/caller.ts';
import type { Services } from '../../declare.ts';
import { coinKeys, ledgerLibrary } from '../coins/model.ts';
import { boardKeys, moveScores } from '../highscores/model.ts';
import { storeKeys } from './model.ts';

export const moveScript = defineScript({
  file: new URL('move.lua', import.meta.url),
  keys: ['ledger', 'keys', 'credited', 'targetAccount', 'targetLedger', 'targetKeys', 'targetCredited', 'targetMoves', 'boards', 'due'],
  args: ['store', 'guestId', 'targetId', 'at', 'unfinishedAt', 'unasked'],
  answers: ['moved', 'not_a_guest', 'from_pairing', 'too_many_guests', 'balance_limit'],
  prologue: opensAccount,
  library: ledgerLibrary,
});

export const finishScript = defineScript({
  file: new URL('finish-move.lua', import.meta.url),
  keys: ['boards', 'due'],
  args: ['move'],
  answers: ['finished', 'unfinished'],
});

/** A move whose scores are not handed over after this long is taken up by whichever process looks next. */
const FINISH_MS = 10_000;

/** Why a guest stays where it is. */
export const notMovedReasons = ['not_a_guest', 'from_pairing', 'too_many_guests', 'balance_limit'] as const;

export type Moved =
  | { moved: true; created: boolean; coins: number; generation: string }
  | { moved: false; reason: (typeof notMovedReasons)[number] };

/**
 * Moves all that a guest has into a store account, which is opened where it is new. Whatever the process dies of, coins
 * are in one of the two or in the other; scores that were left behind follow within seconds (`unfinishedMoves`).
 * @param isAsked the request itself asks for the move, without which a guest that came by a pairing stays
 */
export async function moveGuest(
  guest: Caller,
  target: { accountId: string; store: 'google' | 'sandbox' },
  isAsked: boolean,
  services: Services,
): Promise<Moved> {
  const { scripts, log, now } = services;
  const at = now();
  const guestId = guest.accountId;
  const { accountId: targetId, store } = target;
  const [word, created, coins, generation] = await scripts.runAs(
    guest,
    moveScript,
    {
      ledger: coinKeys.ledger(guestId),
      keys: coinKeys.keys(guestId),
      credited: coinKeys.credited(guestId, at),
      targetAccount: accountKey(targetId),
      targetLedger: coinKeys.ledger(targetId),
      targetKeys: coinKeys.keys(targetId),
      targetCredited: coinKeys.credited(targetId, at),
      targetMoves: movesKey(targetId),
      boards: boardKeys.ofAccount(guestId),
      due: storeKeys.unfinishedMoves,
    },
    {
      store,
      guestId,
      targetId,
      at: at.toString(36),
      unfinishedAt: at + FINISH_MS,
      unasked: guest.session?.isPaired === true && !isAsked ? 1 : 0,
    },
  );
  if (word !== 'moved') return { moved: false, reason: word };
  // The move is done, whatever comes of the scores: the queue knows of those that are left.
  await finishMove(`${guestId} ${targetId}`, services).catch((error: unknown) => {
    log.warn({ reason: (error as Error).message }, 'scores of a guest that moved are handed over later');
  });
  return { moved: true, created: created === '1', coins: Number(coins), generation: generation! };
}

/** @param move the guest's id and its account's, a blank between */
async function finishMove(move: string, services: Pick<Services, 'scripts' | 'catalogue'>): Promise<void> {
  const [guestId, targetId] = move.split(' ') as [string, string];
  await moveScores(guestId, targetId, services);
  await services.scripts.run(finishScript, { boards: boardKeys.ofAccount(guestId), due: storeKeys.unfinishedMoves }, { move });
}

/** Hands over the scores of guests whose process died before it had. */
export function unfinishedMoves(services: Pick<Services, 'scripts' | 'catalogue' | 'log' | 'now'>): DueQueue {
  return new DueQueue({ ...services, key: storeKeys.unfinishedMoves, leaseMs: FINISH_MS, work: (move) => finishMove(move, services) });
}
