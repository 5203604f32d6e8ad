import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey } from '../../../src/accounts/account-keys.ts';
import { keysOf } from '../../../src/features/saves/model.ts';
import { originOfOperator } from '../../../src/features/coins/entry-origin.ts';
import { GIVEN_NAMES } from '../../../src/features/names/model.ts';
import { pairKeys } from '../../../src/features/pairing/model.ts';
import { OPERATOR_LOG } from '../../../src/operator/operator-log.ts';
import { deviceHash, trialKeys } from '../../../src/features/trial/model.ts';
import { freshId } from '../../harness.ts';
import {
  accountWith,
  linkedTrial,
  ofAccount,
  ofCoins,
  paired,
  pairing,
  redis,
  renamed,
  rewrite,
  service,
  told,
  type Damage,
  type Damages,
} from './data.ts';

const wrongPairing = (damage: (key: string) => Promise<unknown>): Damage => ({ kind: 'wrong_pairing', lasting: () => pairing(damage) });

/** Damages the name that operators gave an account. */
const named = (damage: (id: string) => Promise<unknown>): Damage => ({
  kind: 'name_differs',
  mended: ofAccount(renamed, ({ id }) => damage(id)),
});

/** An account with a save of two pieces. */
const saver = async () => {
  const installId = freshId();
  await service.post('/v1/saves/tetris/slot', { installId, data: 'a'.repeat(20_000) });
  return { id: accountIdOf(installId) };
};

export const deviceDamages: Damages = {
  'a save whose data is lost in part': {
    kind: 'lost_save',
    lasting: ofAccount(saver, ({ id }) => redis.hdel(keysOf(id).texts, 'tetris/slot/1/1')),
  },
  'a save whose size is beyond all saves': {
    kind: 'lost_save',
    lasting: ofAccount(saver, async ({ id }) => {
      const line = (await redis.hget(keysOf(id).saves, 'tetris/slot'))!;
      await redis.hset(keysOf(id).saves, 'tetris/slot', line.replace(/^(\d+) \d+/, `$1 ${'9'.repeat(20)}`));
    }),
  },
  'data of a save that has no version': {
    kind: 'save_without_version',
    lasting: ofAccount(saver, ({ id }) => redis.hset(keysOf(id).texts, 'tetris/slot/9/0', '{}')),
  },
  'a save that no list names': {
    kind: 'save_without_name',
    lasting: ofAccount(saver, ({ id }) => redis.hdel(keysOf(id).saves, 'tetris')),
  },
  'saves whose bytes are counted wrong': {
    kind: 'wrong_save_bytes',
    mended: ofAccount(saver, ({ id }) => redis.hincrby(keysOf(id).saves, ':bytes', 5)),
  },
  'a trial of a device that was moved': {
    kind: 'trial_differs',
    lasting: ofAccount(linkedTrial, ({ device }) => redis.hincrby(trialKeys.device(device), 'trialStartedAt', 86_400_000)),
  },
  'a trial of an account that was moved': {
    kind: 'trial_differs',
    lasting: ofAccount(linkedTrial, ({ id }) => redis.hincrby(accountKey(id), 'trialStartedAt', 86_400_000)),
  },
  'a trial whose device is lost': {
    kind: 'trial_differs',
    mended: ofAccount(linkedTrial, ({ device }) => redis.del(trialKeys.device(device))),
  },
  'a device whose start is no time': {
    kind: 'unreadable_record',
    async lasting() {
      const device = deviceHash(freshId());
      await redis.hset(trialKeys.device(device), 'trialStartedAt', 'today');
      return `device ${device}`;
    },
  },
  'an account whose gift ends at no date': {
    kind: 'unreadable_record',
    lasting: ofCoins([5], (id) => redis.hset(accountKey(id), 'giftEndsAt', 'soon')),
  },
  'an account whose count of events is no number': {
    kind: 'unreadable_record',
    lasting: ofCoins([5], (id) => redis.hset(accountKey(id), 'events', 'many')),
  },
  'an account whose creation is no date': {
    kind: 'unreadable_record',
    lasting: ofCoins([5], (id) => redis.hset(accountKey(id), 'createdAt', 'yesterday')),
  },
  'an entry of the operators’ log that was removed': {
    kind: 'unlogged_change',
    async lasting() {
      const [{ id, change }, origin] = [await told(), originOfOperator({ by: 'ada@ops-1', reason: 'test' })];
      await rewrite(id, 0, (entry) => entry.replace(/^1:5 c5 (\w+) /, `1:5 a5 $1~${origin} `));
      await change(2, / c5$/, ' a5');
      return `key ${OPERATOR_LOG}`;
    },
  },
  'a name of an unknown account': {
    kind: 'lost_account',
    async lasting() {
      const id = accountIdOf(freshId());
      await redis.hset(GIVEN_NAMES, id, 'Ada');
      return `account ${id}`;
    },
  },
  'a given name that the index has otherwise': named((id) => redis.hset(GIVEN_NAMES, id, 'Bob')),
  'a given name that the index lacks': named((id) => redis.hdel(GIVEN_NAMES, id)),
  'a given name that the account has lost': named((id) => redis.hdel(accountKey(id), 'nameGiven')),
  'a pairing that never expires': { kind: 'wrong_pairing', mended: () => pairing((key) => redis.persist(key)) },
  'a pairing whose status nobody writes': wrongPairing((key) => redis.hset(key, 'status', 'granted')),
  'a claimed pairing whose claimant changed': wrongPairing(async (key) => redis.hset(key, 'claimant', await accountWith([5]))),
  'a claimed pairing whose claimant is lost': wrongPairing((key) => redis.hdel(key, 'claimant', 'winner')),
  'a pairing that gave its session, and whose claimant changed on both fields': {
    kind: 'wrong_pairing',
    async lasting() {
      const [{ token }, other] = [await paired(), await accountWith([5])];
      await redis.hset(pairKeys.pair(token), { claimant: other, winner: other });
      return `pairing ${token.slice(0, 6)}…`;
    },
  },
};
