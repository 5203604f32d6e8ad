import { accountKey } from '../../../src/accounts/account-keys.ts';
import { pairKeys } from '../../../src/features/pairing/model.ts';
import { deviceHash, trialKeys } from '../../../src/features/trial/model.ts';
import { freshId } from '../../harness.ts';
import { accountWith, linkedTrial, moved, paired, pairing, redis, type Damages } from './data.ts';

export const deviceDamages: Damages = {
  'a trial of a device that was moved': {
    async make() {
      const { id, device } = await linkedTrial();
      await redis.hincrby(trialKeys.device(device), 'trialStartedAt', 86_400_000);
      return `account ${id}`;
    },
    kind: 'trial_differs',
  },
  'a trial of an account that was moved': {
    async make() {
      const { id } = await linkedTrial();
      await redis.hincrby(accountKey(id), 'trialStartedAt', 86_400_000);
      return `account ${id}`;
    },
    kind: 'trial_differs',
  },
  'a trial whose device is lost': {
    async make() {
      const { id, device } = await linkedTrial();
      await redis.del(trialKeys.device(device));
      return `account ${id}`;
    },
    kind: 'trial_differs',
    mends: true,
  },
  'a device whose start is no time': {
    async make() {
      const device = deviceHash(freshId());
      await redis.hset(trialKeys.device(device), 'trialStartedAt', 'today');
      return `device ${device}`;
    },
    kind: 'unreadable_record',
  },
  'a pairing that never expires': {
    make: () => pairing(async (key) => void (await redis.persist(key))),
    kind: 'wrong_pairing',
    mends: true,
  },
  'a pairing whose status nobody writes': {
    make: () => pairing(async (key) => void (await redis.hset(key, 'status', 'granted'))),
    kind: 'wrong_pairing',
  },
  'a claimed pairing whose claimant changed': {
    make: () => pairing(async (key) => void (await redis.hset(key, 'claimant', await accountWith([5])))),
    kind: 'wrong_pairing',
  },
  'a claimed pairing whose claimant is lost': {
    make: () => pairing(async (key) => void (await redis.hdel(key, 'claimant', 'winner'))),
    kind: 'wrong_pairing',
  },
  'a pairing that gave its session, and whose claimant changed on both fields': {
    async make() {
      const { token } = await paired();
      const other = await accountWith([5]);
      await redis.hset(pairKeys.pair(token), { claimant: other, winner: other });
      return `pairing ${token.slice(0, 6)}…`;
    },
    kind: 'wrong_pairing',
  },
  'an account whose creation is no date': {
    async make() {
      const id = await accountWith([5]);
      await redis.hset(accountKey(id), 'createdAt', 'yesterday');
      return `account ${id}`;
    },
    kind: 'unreadable_record',
  },
};
