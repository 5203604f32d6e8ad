import { expect, test } from 'vitest';
import { forFile, start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { seeded } from '../seeded.ts';
import { sized } from '../sized.ts';
import { audited } from './audited.ts';
import { expectOneFinding, kinds, madeKeys, retype, writtenKeys } from './damages/kinds.ts';
import { nameOf } from './damages/mend.ts';

const SEED = 20_261_128;
/** In full, every key that a service writes, and a made key of every other kind, one after the other. */
const KEYS = sized(5, 1000);

const own = await forFile(startRedis());

test('each kind of key has a type, except for keys that were set aside', () => {
  expect(kinds.filter(({ type }) => type === undefined).map(({ names }) => names[0])).toEqual([':aside:']);
});

test('a key of another type is one finding for each kind, if all kinds have one', async () => {
  await using apart = await startRedis();
  await (await start({ redis: apart.location }))[Symbol.asyncDispose]();
  for (const { key, kind } of madeKeys) await retype(apart.redis, key, kind);
  const { findings } = await audited(apart.location, { marks: true, isStill: true });
  expect(findings.map(nameOf).toSorted()).toEqual(madeKeys.map(({ key }) => `wrong_type key ${key}`).toSorted());
});

test(
  `a key of another type is one finding for ${KEYS} keys of a service, and the rest is counted as before`,
  { timeout: 600_000 },
  async () => {
    const draw = seeded(SEED);
    const keys = (await writtenKeys(own)).map((key) => ({ key, place: draw() })).toSorted((one, other) => one.place - other.place);
    expect(keys.length).toBeGreaterThan(100);
    const { findings, counts } = await audited(own.location, { marks: true });
    expect(findings).toEqual([]);
    for (const next of keys.slice(0, KEYS)) await expectOneFinding(own, next.key, counts);
  },
);
