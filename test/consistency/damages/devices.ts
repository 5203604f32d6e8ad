import { accountKey } from '../../../src/accounts/account-keys.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { saveKeys } from '../../../src/features/saves/model.ts';
import { pairKeys } from '../../../src/features/pairing/model.ts';
import { deviceHash, trialKeys } from '../../../src/features/trial/model.ts';
import { freshId } from '../../harness.ts';
import { accountWith, linkedTrial, ofAccount, ofCoins, paired, pairing, redis, service, type Damage, type Damages } from './data.ts';

const wrongPairing = (damage: (key: string) => Promise<unknown>): Damage => ({ kind: 'wrong_pairing', lasting: () => pairing(damage) });

/** An account with a save of two pieces. */
const saver = async () => {
  const installId = freshId();
  await service.post('/v1/saves/tetris/slot', { installId, data: 'a'.repeat(20_000) });
  return { id: accountIdOf(installId) };
};

export const deviceDamages: Damages = {
  'a save whose data is lost in part': {
    kind: 'lost_save',
    lasting: ofAccount(saver, ({ id }) => redis.hdel(saveKeys.texts(id), 'tetris/slot/1/1')),
  },
  'data of a save that has no version': {
    kind: 'save_without_version',
    mended: ofAccount(saver, ({ id }) => redis.hset(saveKeys.texts(id), 'tetris/slot/9/0', '{}')),
  },
  'a save that no list names': {
    kind: 'save_without_name',
    lasting: ofAccount(saver, ({ id }) => redis.hdel(saveKeys.saves(id), 'tetris')),
  },
  'saves whose bytes are counted wrong': {
    kind: 'wrong_save_bytes',
    mended: ofAccount(saver, ({ id }) => redis.hincrby(saveKeys.saves(id), ':bytes', 5)),
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
  'an account whose creation is no date': {
    kind: 'unreadable_record',
    lasting: ofCoins([5], (id) => redis.hset(accountKey(id), 'createdAt', 'yesterday')),
  },
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
