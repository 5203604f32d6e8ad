import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey, standingKey } from '../../../src/accounts/account-keys.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { moveKeys } from '../../../src/features/guest-moves/model.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { trialKeys } from '../../../src/features/trial/model.ts';
import { sessionsKey } from '../../../src/accounts/session-list.ts';
import { subscriptionKeys } from '../../../src/features/purchases/subscription/model.ts';
import { freshId, signIn } from '../../harness.ts';
import {
  accountWith,
  bought,
  bucket,
  ledger,
  linkedTrial,
  moved,
  paired,
  player,
  redis,
  service,
  type Damage,
  type Damages,
} from './data.ts';

/** A key that gets an expiry. */
const expires = (keyOf: () => Promise<string>): Damage => ({
  kind: 'expires',
  async mended() {
    const key = await keyOf();
    await redis.expire(key, 100_000);
    return `key ${key}`;
  },
});

/** A key that loses its expiry. */
const lasts = (keyOf: () => Promise<string>): Damage => ({
  kind: 'never_expires',
  async mended() {
    const key = await keyOf();
    await redis.persist(key);
    return `key ${key}`;
  },
});

export const lifeDamages: Damages = {
  'an account that expires': expires(async () => accountKey(await accountWith([5]))),
  'a ledger that expires': expires(async () => ledger(await accountWith([5]))),
  'a bucket of a ledger that expires': expires(async () => bucket(await accountWith([5]))),
  'a standing that expires': expires(async () => standingKey((await moved((installId) => accountWith([5], installId))).guest)),
  'a set of boards that expires': expires(async () => boardKeys.ofAccount(await player('expiring'))),
  'a board that expires': expires(async () => (await player('ending'), boardKeys.scores('ending'))),
  'a purchase that expires': expires(async () => subscriptionKeys.purchase((await bought()).hash)),
  'a trial of a device that expires': expires(async () => trialKeys.device((await linkedTrial()).device)),
  'a counter of credits without an end': lasts(async () => {
    const key = coinKeys.credited(await accountWith([5]), Date.now());
    await redis.set(key, 5);
    return key;
  }),
  'a record of a move without an end': lasts(async () => {
    const key = moveKeys.record(await accountWith([5]), 'lasting-move');
    await redis.set(key, 'open some-guest');
    return key;
  }),
  'a list of sessions without an end': lasts(async () => sessionsKey((await paired()).id)),
  'a mark of an ended session without an end': lasts(async () => {
    const installId = freshId();
    await service.post('/v1/logout', {}, { cookies: await signIn(service, installId) });
    return (await redis.keys(`{${accountIdOf(installId)}}:out:*`))[0]!;
  }),
};
