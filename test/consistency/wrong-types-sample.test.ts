import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { start } from '../harness.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';
import { seeded } from '../seeded.ts';
import { audited } from './audited.ts';
import { expectOneFinding, kindOf, kinds, madeKeys, retype, writtenKeys } from './damages/kinds.ts';
import { nameOf } from './damages/mend.ts';
import { Names } from './damages/names.ts';

const SEED = 20_261_128;
const KEYS = 5;

let own: OwnRedis;
beforeAll(async () => void (own = await startRedis()));
afterAll(() => own[Symbol.asyncDispose]());

test('each kind of key has a type, but keys that were set aside', () => {
  expect(kinds.filter(({ type }) => type === undefined).map(({ names }) => names[0])).toEqual([':aside:']);
});

test('a name that is made from the pattern of a kind is of that kind', () => {
  for (const kind of kinds) for (const name of kind.names) expect([name, kindOf(name)?.pattern]).toEqual([name, kind.pattern]);
  expect(new Names('^\\{a:([^}]+)\\}:(?:b|c\\d{2})?$', 7).all).toEqual(['{a:k7}:', '{a:k7}:b', '{a:k7}:c11']);
});

describe('a key of another type', () => {
  test('is one finding for each kind, if all kinds have one', async () => {
    await using apart = await startRedis();
    await (await start({ redis: apart.location }))[Symbol.asyncDispose]();
    for (const { key, kind } of madeKeys) await retype(apart.redis, key, kind);
    const { findings } = await audited(apart.location, { marks: true });
    expect(findings.map(nameOf).toSorted()).toEqual(madeKeys.map(({ key }) => `wrong_type key ${key}`).toSorted());
  });

  test(`is one finding for ${KEYS} keys of a service, and the rest is counted as before`, { timeout: 60_000 }, async () => {
    const draw = seeded(SEED);
    const keys = (await writtenKeys(own)).map((key) => ({ key, place: draw() })).toSorted((one, other) => one.place - other.place);
    const { findings, counts } = await audited(own.location, { marks: true });
    expect(findings).toEqual([]);
    for (const { key } of keys.slice(0, KEYS)) await expectOneFinding(own, key, counts);
  });
});
