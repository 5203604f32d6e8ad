import { accountKey, standingKey } from '../../../src/accounts/account-keys.ts';
import { bucketName } from '../../../src/features/coins/ledger-layout.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { moveKeys } from '../../../src/features/guest-moves/model.ts';
import { addEntry } from '../../board-entries.ts';
import { freshId, signIn } from '../../harness.ts';
import {
  accountWith,
  bannedForAnHour,
  hashOf,
  HOUR_MS,
  largeAccount,
  ledger,
  moved,
  ofAccount,
  ofCoins,
  queuedAlone,
  redis,
  service,
  type Damages,
} from './data.ts';

interface Moved {
  readonly guest: string;
  readonly target: string;
  /** The guest's ledger at its target. */
  readonly copy: string;
}

/** Damages a guest that has moved. @param subjectOf gives the subject, by default the target */
function ofMove(
  guest: (installId: string) => Promise<unknown>,
  damage: (move: Moved) => Promise<unknown>,
  subjectOf = ({ target }: Moved) => `account ${target}`,
) {
  return async (): Promise<string> => {
    const ids = await moved(guest);
    const move = { ...ids, copy: coinKeys.guestLedger(ids.target, ids.guest) };
    await damage(move);
    return subjectOf(move);
  };
}

const small = (installId: string) => accountWith([5, 6], installId);
const theGuest = ({ guest }: Moved): string => `account ${guest}`;
const guestOf = ({ guest, target }: Moved): string => `guest ${guest} of account ${target}`;

/** Adds an entry of a healthy account to the queue of deletions. */
const doomed = (afterMs: number, entryOf: (id: string) => string, subject?: string) => async (): Promise<string> => {
  const id = await accountWith([5]);
  await redis.zadd('deletions:due', Date.now() + afterMs, entryOf(id));
  return subject ?? `account ${id}`;
};

export const moveDamages: Damages = {
  'a healthy account in the queue of deletions': {
    kind: 'queue_without_document',
    mended: doomed(50_000, (id) => id, 'queue deletions:due'),
  },
  'a healthy account that the queue of deletions would delete': {
    kind: 'doomed_account',
    mended: doomed(24 * HOUR_MS, (id) => `${id} ${Date.now()}`),
  },
  'a ban that ends and is not in the queue': {
    kind: 'document_without_queue',
    mended: ofAccount(bannedForAnHour, async () => {}),
  },
  'a guest whose record of the move is lost': {
    kind: 'lost_account',
    mended: ofMove(small, ({ guest }) => redis.del(accountKey(guest), standingKey(guest)), theGuest),
  },
  // The guest's last entry is not the one that the record, the filed ledger and the account's ledger know.
  'a moved guest that still has coins': { kind: 'half_move', lasting: ofMove(small, ({ copy }) => redis.rpop(copy)) },
  'a ledger of a guest with an entry that is missing': {
    kind: 'broken_chain',
    lasting: ofMove(largeAccount, async ({ copy }) => redis.lrem(copy, 1, (await redis.lindex(copy, 7))!), guestOf),
  },
  'a bucket of a guest that is lost': {
    kind: 'entry_without_key',
    mended: ofMove(largeAccount, ({ copy }) => redis.del(bucketName(copy, 2)), guestOf),
  },
  'a bucket of a guest whose ledger is filed': {
    kind: 'orphan_bucket',
    mended: ofMove(small, async ({ copy }) => redis.hset(bucketName(copy, 0), await hashOf('k1'), 1)),
  },
  'a ledger of a guest that is lost': { kind: 'half_move', lasting: ofMove(largeAccount, ({ copy }) => redis.del(copy)) },
  'a ledger of nobody that moved in': {
    kind: 'lost_standing',
    lasting: ofCoins([5], (id) => redis.rpush(coinKeys.guestLedger(id, 'stranger'), '1:5 c5 lzzzzzzz key')),
  },
  'a guest that moved, and whose ledger nobody is going to delete': {
    kind: 'document_without_queue',
    mended: ofMove(small, ({ guest }) => redis.rpush(ledger(guest), '1:5 c5 lzzzzzzz key'), theGuest),
  },
  'a frozen guest whose move is not in the queue': {
    kind: 'document_without_queue',
    mended: ofCoins([5], (id) => redis.set(standingKey(id), '~some-move some-target sandbox 2026-11-22\n')),
  },
  'a copy of a move that was refused, and whose guest has thawed': {
    kind: 'orphan_staging',
    mended: ofCoins([5], async (id) => {
      await redis.set(moveKeys.record(id, 'refused-move'), `refused ${await accountWith([5])} balance_limit`, 'EX', 600);
      await redis.rpush(moveKeys.stagedLedger(id, 'refused-move'), '1:5 c5 lzzzzzzz key');
    }),
  },
  'a copy of a move that has no record': {
    kind: 'orphan_staging',
    mended: ofCoins([5], (id) => redis.rpush(moveKeys.stagedLedger(id, 'lost-move'), '1:5 c5 lzzzzzzz key')),
  },
  'a record of a move that cannot be read': {
    kind: 'wrong_move_record',
    lasting: ofCoins([5], (id) => redis.set(moveKeys.record(id, 'strange-move'), 'perhaps', 'EX', 600)),
  },
  'a moved guest whose standing is lost': {
    kind: 'lost_account',
    mended: ofMove(small, ({ guest }) => redis.del(standingKey(guest)), theGuest),
  },
  'coins of a guest that never arrived': { kind: 'lost_ledger', lasting: ofMove(largeAccount, ({ target }) => redis.del(ledger(target))) },
  'a filed key that is lost': {
    kind: 'filed_differs',
    mended: ofMove(small, ({ target }) => redis.hdel(coinKeys.guestKeys(target), 'k2')),
  },
  'filed entries of an account without guests': {
    kind: 'lost_account',
    async lasting() {
      await redis.zadd('{without-guests}:ledger:guests', 1, '998000000000000001');
      return 'account without-guests';
    },
  },
  'a guest with scores whose move is not in the queue': {
    kind: 'document_without_queue',
    mended: ofMove(
      small,
      async ({ guest }) => {
        await redis.sadd(boardKeys.ofAccount(guest), 'unmoved');
        await addEntry(redis, 'unmoved', guest, 1);
        await redis.set(boardKeys.arrivals('unmoved'), Date.now() * 10);
      },
      theGuest,
    ),
  },
  'a move in the queue of a guest that did not move': {
    kind: 'queue_without_document',
    mended: queuedAlone('moves:due', 'some-guest some-target'),
  },
  'an account and a guest that were deleted, whose tombstones and index are gone': {
    kind: 'half_move',
    lasting: ofMove(small, async ({ guest, target }) => {
      const lost = [...(await redis.keys(`{${target}}:*`)).filter((key) => !key.includes(':move:')), ...(await redis.keys(`{${guest}}:*`))];
      await redis.del(...lost);
    }),
  },
  'filed ledgers of an account whose standing names no guest': {
    kind: 'orphan_filed',
    async mended() {
      const installId = freshId();
      const id = await accountWith([5], installId);
      await service.post('/v1/logout', { everywhere: true }, { cookies: await signIn(service, installId) });
      await redis.zadd(`{${id}}:ledger:guests`, 1, '998000000000000001');
      return `account ${id}`;
    },
  },
};
