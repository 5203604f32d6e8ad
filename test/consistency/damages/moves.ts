import { expect } from 'vitest';
import { accountKey, standingKey } from '../../../src/accounts/account-keys.ts';
import { bucketName } from '../../../src/features/coins/ledger-layout.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { storeKeys } from '../../../src/features/store/model.ts';
import { addEntry } from '../../board-entries.ts';
import { freshId, signIn } from '../../harness.ts';
import { accountWith, bucket, hashOf, HOUR_MS, largeAccount, ledger, moved, redis, service, type Damages } from './data.ts';

export const moveDamages: Damages = {
  'a guest whose record of the move is lost': {
    async make() {
      const { guest } = await moved((installId) => accountWith([5, 6], installId));
      await redis.set(accountKey(guest), 'x');
      await redis.del(accountKey(guest), standingKey(guest));
      return `account ${guest}`;
    },
    kind: 'lost_account',
    mends: true,
  },
  'a moved guest that still has coins': {
    async make() {
      const { guest, target } = await moved((installId) => accountWith([5, 6], installId));
      await redis.rpop(coinKeys.guestLedger(target, guest));
      return `account ${target}`;
    },
    // The guest's last entry is not the one that the record, the filed ledger and the account's ledger know.
    kind: 'half_move',
  },
  'a ledger of a guest with an entry that is missing': {
    async make() {
      const { guest, target } = await moved((installId) => largeAccount(installId));
      const copy = coinKeys.guestLedger(target, guest);
      await redis.lrem(copy, 1, (await redis.lindex(copy, 7))!);
      return `guest ${guest} of account ${target}`;
    },
    kind: 'broken_chain',
  },
  'a bucket of a guest that is lost': {
    async make() {
      const { guest, target } = await moved((installId) => largeAccount(installId));
      await redis.del(bucketName(coinKeys.guestLedger(target, guest), 2));
      return `guest ${guest} of account ${target}`;
    },
    kind: 'entry_without_key',
    mends: true,
  },
  'a bucket of a guest whose ledger is filed': {
    async make() {
      const { guest, target } = await moved((installId) => accountWith([5, 6], installId));
      await redis.hset(bucketName(coinKeys.guestLedger(target, guest), 0), await hashOf('k1'), 1);
      return `account ${target}`;
    },
    kind: 'orphan_bucket',
    mends: true,
  },
  'a ledger of a guest that is lost': {
    async make() {
      const { guest, target } = await moved((installId) => largeAccount(installId));
      await redis.del(coinKeys.guestLedger(target, guest));
      return `account ${target}`;
    },
    kind: 'half_move',
  },
  'a ledger of nobody that moved in': {
    async make() {
      const target = await accountWith([5]);
      await redis.rpush(coinKeys.guestLedger(target, 'stranger'), '1:5 c5 lzzzzzzz key');
      return `account ${target}`;
    },
    kind: 'lost_standing',
  },
  'a guest that moved, and whose ledger nobody is going to delete': {
    async make() {
      const { guest } = await moved((installId) => accountWith([5], installId));
      await redis.rpush(ledger(guest), '1:5 c5 lzzzzzzz key');
      return `account ${guest}`;
    },
    kind: 'document_without_queue',
    mends: true,
  },
  'a frozen guest whose move is not in the queue': {
    async make() {
      const guest = await accountWith([5]);
      await redis.set(standingKey(guest), '~some-move some-target sandbox 2026-11-22\n');
      return `account ${guest}`;
    },
    kind: 'document_without_queue',
    mends: true,
  },
  'a copy of a move that was refused, and whose guest has thawed': {
    async make() {
      const [guest, target] = [await accountWith([5]), await accountWith([5])];
      await redis.set(storeKeys.moveRecord(target, 'refused-move'), `refused ${guest} balance_limit`, 'EX', 600);
      await redis.rpush(storeKeys.stagedLedger(target, 'refused-move'), '1:5 c5 lzzzzzzz key');
      return `account ${target}`;
    },
    kind: 'orphan_staging',
    mends: true,
  },
  'a copy of a move that has no record': {
    async make() {
      const target = await accountWith([5]);
      await redis.rpush(storeKeys.stagedLedger(target, 'lost-move'), '1:5 c5 lzzzzzzz key');
      return `account ${target}`;
    },
    kind: 'orphan_staging',
    mends: true,
  },
  'a record of a move that never expires': {
    async make() {
      const target = await accountWith([5]);
      await redis.set(storeKeys.moveRecord(target, 'lasting-move'), 'open some-guest');
      return `account ${target}`;
    },
    kind: 'wrong_move_record',
    mends: true,
  },
  'a record of a move that cannot be read': {
    async make() {
      const target = await accountWith([5]);
      await redis.set(storeKeys.moveRecord(target, 'strange-move'), 'perhaps', 'EX', 600);
      return `account ${target}`;
    },
    kind: 'wrong_move_record',
  },
  'a moved guest whose standing is lost': {
    async make() {
      const { guest } = await moved((installId) => accountWith([5], installId));
      await redis.del(standingKey(guest));
      return `account ${guest}`;
    },
    kind: 'lost_account',
    mends: true,
  },
  'coins of a guest that never arrived': {
    async make() {
      const { target } = await moved((installId) => largeAccount(installId));
      await redis.del(ledger(target));
      return `account ${target}`;
    },
    kind: 'lost_ledger',
  },
  'a filed key that is lost': {
    async make() {
      const { target } = await moved((installId) => accountWith([5, 6], installId));
      await redis.hdel(coinKeys.guestKeys(target), 'k2');
      return `account ${target}`;
    },
    kind: 'filed_differs',
    mends: true,
  },
  'filed entries of an account without guests': {
    async make() {
      await redis.zadd('{without-guests}:ledger:guests', 1, '998000000000000001');
      return 'account without-guests';
    },
    kind: 'lost_account',
  },
  'a guest with scores whose move is not in the queue': {
    async make() {
      const { guest } = await moved((installId) => accountWith([5], installId));
      await redis.sadd(boardKeys.ofAccount(guest), 'unmoved');
      await addEntry(redis, 'unmoved', guest, 1);
      await redis.set(boardKeys.arrivals('unmoved'), Date.now() * 10);
      return `account ${guest}`;
    },
    kind: 'document_without_queue',
    mends: true,
  },
  'a move in the queue of a guest that did not move': {
    async make() {
      await redis.zadd('moves:due', Date.now() + HOUR_MS, 'some-guest some-target');
      return 'queue moves:due';
    },
    kind: 'queue_without_document',
    mends: true,
  },
  'an account and a guest that were deleted, whose tombstones and index are gone': {
    async make() {
      const { guest, target } = await moved((installId) => accountWith([5, 6], installId));
      await redis.del(
        ...(await redis.keys(`{${target}}:*`)).filter((key) => !key.includes(':move:')),
        ...(await redis.keys(`{${guest}}:*`)),
      );
      return `account ${target}`;
    },
    kind: 'half_move',
  },
  'filed ledgers of an account whose standing names no guest': {
    async make() {
      const installId = freshId();
      const id = await accountWith([5], installId);
      const cookies = await signIn(service, installId);
      expect((await service.post('/v1/logout', { everywhere: true }, { cookies })).status).toBe(200);
      expect(await redis.exists(standingKey(id))).toBe(1);
      await redis.zadd(`{${id}}:ledger:guests`, 1, '998000000000000001');
      return `account ${id}`;
    },
    kind: 'orphan_filed',
    mends: true,
  },
};
