import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey, standingKey } from '../../../src/accounts/account-keys.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { trialKeys } from '../../../src/features/trial/model.ts';
import { sessionsKey } from '../../../src/accounts/session-list.ts';
import { subscriptionKeys } from '../../../src/features/subscription/model.ts';
import { freshId, signIn } from '../../harness.ts';
import { accountWith, bought, bucket, expiring, ledger, linkedTrial, moved, paired, player, redis, service, type Damages } from './data.ts';

export const lifeDamages: Damages = {
  'an account that expires': {
    make: () => expiring(accountKey),
    kind: 'expires',
    mends: true,
  },
  'a ledger that expires': {
    make: () => expiring(ledger),
    kind: 'expires',
    mends: true,
  },
  'a bucket of a ledger that expires': {
    make: () => expiring(bucket),
    kind: 'expires',
    mends: true,
  },
  'a standing that expires': {
    async make() {
      const { guest } = await moved((installId) => accountWith([5], installId));
      await redis.expire(standingKey(guest), 100_000);
      return `key ${standingKey(guest)}`;
    },
    kind: 'expires',
    mends: true,
  },
  'a set of boards that expires': {
    async make() {
      const key = boardKeys.ofAccount(await player('expiring'));
      await redis.expire(key, 100_000);
      return `key ${key}`;
    },
    kind: 'expires',
    mends: true,
  },
  'a board that expires': {
    async make() {
      await player('ending');
      await redis.expire(boardKeys.scores('ending'), 100_000);
      return `key ${boardKeys.scores('ending')}`;
    },
    kind: 'expires',
    mends: true,
  },
  'a purchase that expires': {
    async make() {
      const { hash } = await bought();
      await redis.expire(subscriptionKeys.purchase(hash), 100_000);
      return `key ${subscriptionKeys.purchase(hash)}`;
    },
    kind: 'expires',
    mends: true,
  },
  'a trial of a device that expires': {
    async make() {
      const { device } = await linkedTrial();
      await redis.expire(trialKeys.device(device), 100_000);
      return `key ${trialKeys.device(device)}`;
    },
    kind: 'expires',
    mends: true,
  },
  'a mark of an ended session without an end': {
    async make() {
      const installId = freshId();
      const cookies = await signIn(service, installId);
      await service.post('/v1/logout', {}, { cookies });
      const [key] = await redis.keys(`{${accountIdOf(installId)}}:out:*`);
      await redis.persist(key!);
      return `key ${key}`;
    },
    kind: 'never_expires',
    mends: true,
  },
  'a list of sessions without an end': {
    async make() {
      const { id } = await paired();
      await redis.persist(sessionsKey(id));
      return `key ${sessionsKey(id)}`;
    },
    kind: 'never_expires',
    mends: true,
  },
};
