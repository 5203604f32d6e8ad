import { opensAccount } from '../../accounts/prologues.ts';
import { DueQueue } from '../../redis/due-queue.ts';
import { Queue } from '../../redis/queue.ts';
import { defineScript } from '../../redis/script.ts';
import { accountKey, movesKey } from '../../accounts/keys.ts';
import { type Caller } from '../../server/identity/caller.ts';
import type { Services } from '../../declare.ts';
import { coinKeys, ledgerLibrary } from '../coins/model.ts';
import { boardKeys, moveScores } from '../highscores/model.ts';
import { storeKeys } from './model.ts';

export const moveScript = defineScript({
  file: new URL('move.lua', import.meta.url),
  keys: ['ledger', 'credited', 'targetAccount', 'targetLedger', 'targetCredited', 'targetMoves', 'boards', 'due'],
  args: ['store', 'guestId', 'targetId', 'unfinishedAt', 'unconfirmed'],
  shared: ['secret'],
  answers: ['moved', 'not_a_guest', 'from_pairing', 'too_many_guests', 'balance_limit', 'other_data'],
  prologue: opensAccount,
  library: ledgerLibrary,
});

export const finishScript = defineScript({
  file: new URL('finish-move.lua', import.meta.url),
  keys: ['boards'],
  args: [],
  answers: ['finished', 'unfinished'],
  readOnly: true,
});

/** If the scores of a move are not handed over after this long, another process does it. */
const FINISH_MS = 10_000;

export const notMovedReasons = ['not_a_guest', 'from_pairing', 'too_many_guests', 'balance_limit'] as const;

export type Moved =
  | { moved: true; created: boolean; coins: number; generation: string }
  | { moved: false; reason: (typeof notMovedReasons)[number] };

/**
 * Moves all that a guest has into a store account, and creates the account if it is new. One script moves everything but the
 * scores, so no crash can lose or double coins. After a crash the queue hands over the scores within seconds (`unfinishedMoves`).
 * @throws Refusal `store_unavailable` while the ledgers are being upgraded
 * @param isConfirmed the request has `move:true`: without it a guest whose session came from a pairing does not move
 */
export async function moveGuest(
  guest: Caller,
  target: { accountId: string; store: 'google' | 'sandbox' },
  isConfirmed: boolean,
  services: Services,
): Promise<Moved> {
  const { scripts, log, now, keySecret } = services;
  const secret = keySecret.text;
  const at = now();
  const unfinishedAt = at + FINISH_MS;
  const guestId = guest.accountId;
  const { accountId: targetId, store } = target;
  const [word, created, coins, generation] = await scripts.runAs(
    guest,
    moveScript,
    {
      ledger: coinKeys.ledger(guestId),
      credited: coinKeys.credited(guestId, at),
      targetAccount: accountKey(targetId),
      targetLedger: coinKeys.ledger(targetId),
      targetCredited: coinKeys.credited(targetId, at),
      targetMoves: movesKey(targetId),
      boards: boardKeys.ofAccount(guestId),
      due: storeKeys.unfinishedMoves,
    },
    {
      store,
      guestId,
      targetId,
      unfinishedAt,
      unconfirmed: guest.session?.isPaired === true && !isConfirmed ? 1 : 0,
      secret,
    },
  );
  if (word === 'other_data') throw keySecret.otherData();
  if (word !== 'moved') return { moved: false, reason: word };
  // The move is done even if this fails: the queue hands over the remaining scores.
  const member = `${guestId} ${targetId}`;
  await finishMove(member, services)
    .then((nextAt) => {
      const key = storeKeys.unfinishedMoves;
      return new Queue(key, scripts).settleTaken({ key, entry: member, member, leaseEnd: unfinishedAt }, nextAt);
    })
    .catch((error: unknown) => {
      log.warn({ reason: (error as Error).message }, 'the scores of a moved guest could not be handed over: the queue tries again');
    });
  return { moved: true, created: created === '1', coins: Number(coins), generation: generation! };
}

type FinishParts = Pick<Services, 'scripts' | 'catalogue' | 'now'>;

/**
 * @param move `<guest id> <account id>`
 * @returns when to try again; undefined: no score is left
 */
async function finishMove(move: string, services: FinishParts): Promise<number | undefined> {
  const [guestId, targetId] = move.split(' ') as [string, string];
  await moveScores(guestId, targetId, services);
  const [word] = await services.scripts.run(finishScript, { boards: boardKeys.ofAccount(guestId) }, {});
  return word === 'finished' ? undefined : services.now() + FINISH_MS;
}

/** Hands over the scores that a crashed process left behind. */
export function unfinishedMoves(services: FinishParts & Pick<Services, 'log'>): DueQueue {
  return new DueQueue({ ...services, name: storeKeys.unfinishedMoves, leaseMs: FINISH_MS, work: (move) => finishMove(move, services) });
}
