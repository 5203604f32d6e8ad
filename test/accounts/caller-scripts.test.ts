import { afterAll, expect, test } from 'vitest';
import { CallerScripts, SessionEnded, type ScriptCaller } from '../../src/accounts/caller-scripts.ts';
import { checksCaller, opensAccount } from '../../src/accounts/prologues.ts';
import { defineScript } from '../../src/redis/script.ts';
import { ScriptLink } from '../../src/redis/script-link.ts';
import { forFile } from '../harness.ts';
import { lua } from '../lua-files.ts';
import { startRedis } from '../own-redis.ts';

const acting = defineScript({
  file: lua(
    'acting',
    `-- KEYS note\n-- ARGV -\n-- Prologue open-account.lua\n-- Answers done\nif not open_account(account, creation_barred) then return {'rate_limited'} end\nredis.call('INCR', note)\nreturn answer('done')`,
  ),
  keys: ['note'],
  args: [],
  answers: ['done'],
  prologue: opensAccount,
});

const { redis } = await forFile(startRedis());
const link = new ScriptLink(redis);
await link.opened();
afterAll(() => link.disconnect());
const scripts = new CallerScripts(link, { now: Date.now });

test('each call of a batch is run or refused for its own caller', async () => {
  const reserved: string[] = [];
  const run = (id: string, more: Partial<ScriptCaller> = {}): Promise<string[]> => {
    const caller: ScriptCaller = {
      accountKey: `${id}:account`,
      standingKey: `${id}:moves`,
      signedOutKey: undefined,
      createsFreely: false,
      reserveCreation: () => (reserved.push(id), 0),
      giveBackCreation: () => void reserved.splice(reserved.indexOf(id), 1),
      ...more,
    };
    return scripts.runAs(caller, acting, { note: `${id}:note` }, {});
  };
  await redis.hset('old:account', 'createdAt', '1');
  await redis.mset('moved:moves', '>elsewhere', 'out:out', '1');
  const outcomes = await Promise.allSettled([
    run('old'),
    run('new'),
    run('moved'),
    run('out', { signedOutKey: 'out:out' }),
    run('in', { signedOutKey: 'in:out' }),
    run('barred', { reserveCreation: async () => 700 }),
    // It does not fail the other calls.
    run('faulty', { reserveCreation: () => Promise.reject(new Error('no counter')) }),
  ]);
  expect(outcomes).toMatchObject([
    { value: ['done'] },
    { value: ['done'] },
    { reason: { code: 'sign_in_required' } },
    { reason: expect.any(SessionEnded) },
    { value: ['done'] },
    { reason: { code: 'rate_limited', details: { retryAfterMs: 700 } } },
    { reason: { message: 'no counter' } },
  ]);
  expect(reserved).toEqual(['new', 'in']);
  expect(await redis.exists('moved:note', 'out:note', 'barred:note', 'barred:account', 'faulty:note')).toBe(0);
});

test('a script runs for an operator whatever the state of the account is, unless it may open the account', async () => {
  const reading = defineScript({
    name: 'test/reading',
    lua: `return {'note', redis.call('GET', note) or ''}`,
    keys: ['note'],
    answers: ['note'],
    prologue: checksCaller,
    readOnly: true,
  });
  const caller: ScriptCaller = {
    accountKey: 'gone:account',
    standingKey: 'gone:moves',
    signedOutKey: undefined,
    createsFreely: true,
    reserveCreation: () => 0,
    giveBackCreation() {},
  };
  const unchecked = { ...caller, isUnchecked: true };
  await redis.mset('gone:moves', '>elsewhere', 'gone:note', 'kept');
  const [refused, ...read] = await Promise.allSettled(
    [caller, unchecked, unchecked].map((by) => scripts.runAs(by, reading, { note: 'gone:note' }, {})),
  );
  expect(refused).toMatchObject({ reason: { code: 'sign_in_required' } });
  expect(read).toMatchObject([{ value: ['note', 'kept'] }, { value: ['note', 'kept'] }]);
  expect(() => scripts.runAs(unchecked, acting, { note: 'gone:note' }, {})).toThrow('for a checked caller only');
});
