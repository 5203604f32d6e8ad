import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { CallerScripts, SessionEnded, type ScriptCaller } from '../../src/accounts/caller-scripts.ts';
import { opensAccount } from '../../src/accounts/prologues.ts';
import { Refusal } from '../../src/errors.ts';
import { defineScript } from '../../src/redis/script.ts';
import { ScriptLink } from '../../src/redis/script-link.ts';
import { lua } from '../lua-files.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';

const acting = defineScript({
  file: lua(
    'acting',
    `-- KEYS note\n-- ARGV -\n-- Prologue prologue-open.lua\n-- Answers done\nif not open_account(account, creation_barred) then return {'rate_limited'} end\nredis.call('INCR', note)\nreturn answer('done')`,
  ),
  keys: ['note'],
  args: [],
  answers: ['done'],
  prologue: opensAccount,
});

let own: OwnRedis;
let redis: Redis;
let link: ScriptLink;
let scripts: CallerScripts;

beforeAll(async () => {
  own = await startRedis();
  ({ redis } = own);
  link = new ScriptLink(redis);
  await link.opened();
  scripts = new CallerScripts(link, { now: Date.now });
});

afterAll(async () => {
  link.disconnect();
  await own[Symbol.asyncDispose]();
});

beforeEach(() => redis.flushall());

test('a call whose caller throws does not fail the other calls', async () => {
  const bad = (more: Partial<ScriptCaller>): ScriptCaller => ({
    accountKey: 'bad:account',
    standingKey: 'bad:moves',
    signedOutKey: undefined,
    createsFreely: true,
    reserveCreation: () => 0,
    giveBackCreation() {},
    ...more,
  });
  const barring = Object.defineProperty(bad({}), 'createsFreely', {
    get() {
      throw new Error('no address');
    },
  });
  const failing = bad({
    accountKey: 'failing:account',
    createsFreely: false,
    reserveCreation() {
      throw new Error('no counter');
    },
  });
  const act = async (caller: ScriptCaller, note: string): Promise<string[]> => scripts.runAs(caller, acting, { note }, {});
  const outcomes = await Promise.allSettled([act(bad({}), 'a'), act(barring, 'b'), act(failing, 'c'), act(bad({}), 'd')]);
  expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as Error).message))).toEqual([
    ['done'],
    'no address',
    'no counter',
    ['done'],
  ]);
  expect(await redis.mget('a', 'b', 'c', 'd')).toEqual(['1', null, null, '1']);
});

test('each call of a batch is run or refused for its own caller', async () => {
  const reserved: string[] = [];
  const caller = (id: string, more: Partial<ScriptCaller> = {}): ScriptCaller => ({
    accountKey: `${id}:account`,
    standingKey: `${id}:moves`,
    signedOutKey: undefined,
    createsFreely: false,
    reserveCreation: () => (reserved.push(id), 0),
    giveBackCreation: () => void reserved.splice(reserved.indexOf(id), 1),
    ...more,
  });
  const act = (id: string, more?: Partial<ScriptCaller>): Promise<string[]> =>
    scripts.runAs(caller(id, more), acting, { note: `${id}:note` }, {});
  await redis.hset('old:account', 'createdAt', '1');
  await redis.set('moved:moves', '>elsewhere');
  await redis.set('out:out', '1');
  const outcomes = await Promise.allSettled([
    act('old'),
    act('new'),
    act('moved'),
    act('out', { signedOutKey: 'out:out' }),
    act('in', { signedOutKey: 'in:out' }),
    act('barred', { reserveCreation: async () => 700 }),
  ]);
  const [old, fresh, moved, out, signedIn, barred] = outcomes.map((outcome) =>
    outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as Error),
  );
  expect([old, fresh, signedIn]).toEqual([['done'], ['done'], ['done']]);
  expect(reserved).toEqual(['new', 'in']);
  expect(moved).toBeInstanceOf(Refusal);
  expect((moved as Refusal).code).toBe('sign_in_required');
  expect(out).toBeInstanceOf(SessionEnded);
  expect(barred).toBeInstanceOf(Refusal);
  expect((barred as Refusal).code).toBe('rate_limited');
  expect((barred as Refusal).details.retryAfterMs).toBe(700);
  expect(await redis.exists('moved:note', 'out:note', 'barred:note', 'barred:account')).toBe(0);
});
