import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { standingKey } from '../../src/accounts/account-keys.ts';
import { parseStanding, standingChanges, standingLibrary, type Standing } from '../../src/accounts/standing.ts';
import { standingOf, type ReadStanding } from '../../src/accounts/standing-reader.ts';
import { defineScript } from '../../src/redis/script.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { freshId } from '../harness.ts';
import { lua } from '../lua-files.ts';

const NOW = 5000;
const redis = new Redis({ path: inject('redisSocket') });
const scripts = new ScriptRunner(redis, { now: () => NOW });
afterAll(() => redis.disconnect());

/** A script of the libraries' functions. `words` is a blank-separated list for Lua. */
const scriptOf = (name: string, body: string) =>
  defineScript({
    file: lua(name, `-- KEYS standing\n-- ARGV words\n-- Library standing.lua\n-- Library standing-changes.lua\n-- Answers done\n${body}`),
    keys: ['standing'],
    args: ['words'],
    answers: ['done'],
    library: [standingLibrary, standingChanges],
  });

const FROZEN = '~move-1 some-account google 2026-11-22\n';
const BAN = `!0 4000 ${Buffer.from('cheats').toString('base64url')}\n`;
const GUESTS = 'guest-a 3=\nguest-b 700*2\nguest-c 0=\n';
const nothing = { deleted: undefined, ban: undefined, target: undefined, moving: undefined, generation: 0, guests: [], unreadable: 0 };
const guests = [
  { id: 'guest-a', number: 1, lastSeq: 3, isFiled: true },
  { id: 'guest-b', number: 2, lastSeq: 700, isFiled: false },
  { id: 'guest-c', number: 3, lastSeq: 0, isFiled: true },
];
const forEver = { until: undefined, since: 4000, reason: 'cheats' };

describe('TypeScript and Lua read a record in the same way', () => {
  const moving = { moveId: 'move-1', target: 'some-account' };
  const bannedUntil = (until: number) => ({ until, since: 4000, reason: '' });
  test.each<[record: string, standing: Partial<Standing>, look: ReadStanding]>([
    ['', {}, { word: 'open' }],
    [`#12\n${GUESTS}`, { generation: 12, guests }, { word: 'open' }],
    ['guest-b 700*1\n', { guests: [{ id: 'guest-b', number: 1, lastSeq: 700, isFiled: false }] }, { word: 'open' }],
    ['>some-account', { target: 'some-account' }, { word: 'moved', target: 'some-account' }],
    [FROZEN, { moving }, { word: 'moving' }],
    [`${FROZEN}!4999 4000 -\n#2\n`, { moving, ban: bannedUntil(4999), generation: 2 }, { word: 'moving' }],
    [`${BAN}#3\n${GUESTS}`, { ban: forEver, generation: 3, guests }, { word: 'banned', ban: { until: undefined } }],
    [`!5001 4000 -\n#3\n`, { ban: bannedUntil(5001), generation: 3 }, { word: 'banned', ban: { until: 5001 } }],
    [`!5000 4000 -\n#3\n`, { ban: bannedUntil(5000), generation: 3 }, { word: 'open' }],
    ['=4500', { deleted: { at: 4500, isClosed: true } }, { word: 'deleted' }],
    [`=4500\n${BAN}#3\n${GUESTS}`, { deleted: { at: 4500, isClosed: false }, ban: forEver, generation: 3, guests }, { word: 'deleted' }],
  ])('%j', async (record, standing, look) => {
    const id = freshId();
    if (record !== '') await redis.set(standingKey(id), record);
    expect(parseStanding(record === '' ? null : record)).toEqual({ ...nothing, ...standing });
    expect(await standingOf(id, scripts)).toEqual(look);
  });
});

describe('a change of a standing', () => {
  const change = (name: string, call: string) => {
    const script = scriptOf(name, `local found = ${call}\nreturn {'done', tostring(found)}`);
    return async (key: string): Promise<string> => (await scripts.run(script, { standing: key }, { words: '' }))[1]!;
  };
  const freeze = change('freeze', `freeze(standing, 'move-1', 'some-account', 'google', '2026-11-22')`);
  const isFrozen = change('frozen', `is_frozen(standing, 'move-1')`);
  const isFrozenForOther = change('frozen-for-other', `is_frozen(standing, 'move')`);
  const thaw = change('thaw', 'thaw(standing)');
  const ban = change('ban', `ban(standing, '6000', '4000', '-')`);
  const banAgain = change('ban-again', `ban(standing, '0', '4500', 'Y2hlYXRz')`);
  const unban = change('unban', 'unban(standing)');
  const endSessions = change('end-sessions', 'end_sessions(standing)');
  const markMoved = change('mark-moved', `mark_moved(standing, 'some-account')`);
  const markDeleted = change('mark-deleted', `mark_deleted(standing, '4500')`);
  const keepTombstone = change('keep-tombstone', `keep_tombstone(standing, '4500')`);
  const addGuest = change('add-guest', `add_guest(standing, 'guest-a', 3, 1, true)`);

  const kept = { ...nothing, guests: guests.slice(0, 1) };
  const banned = { ...kept, ban: { until: 6000, since: 4000, reason: '' } };

  /** Makes the changes one after the other. */
  async function after(...changes: ((key: string) => Promise<string>)[]): Promise<Standing> {
    const key = standingKey(freshId());
    for (const each of changes) await each(key);
    return parseStanding(await redis.get(key));
  }

  test.each([
    ['a ban keeps the rest', [addGuest, ban], banned],
    ['a ban replaces another ban', [addGuest, ban, banAgain], { ...kept, ban: { until: undefined, since: 4500, reason: 'cheats' } }],
    ['the end of a ban restores the rest', [addGuest, ban, unban], kept],
    [
      'a sign-out everywhere begins a new generation, and ends no ban',
      [addGuest, endSessions, ban, endSessions],
      { ...banned, generation: 2 },
    ],
    ['a guest that thaws gets its earlier standing back', [endSessions, freeze, thaw], { ...nothing, generation: 1 }],
    [
      'a deleted account keeps its guests until everything is erased',
      [addGuest, markDeleted],
      { ...kept, deleted: { at: 4500, isClosed: false } },
    ],
    ['then it keeps only the time', [addGuest, markDeleted, keepTombstone], { ...nothing, deleted: { at: 4500, isClosed: true } }],
  ])('%s', async (_, changes, standing) => {
    expect(await after(...changes)).toEqual(standing);
  });

  test('a guest is frozen for one move, and a standing without a line leaves no key', async () => {
    const key = standingKey(freshId());
    await freeze(key);
    expect([await isFrozen(key), await isFrozenForOther(key)]).toEqual(['true', 'false']);
    for (const each of [thaw, ban, unban]) await each(key);
    expect(await redis.exists(key)).toBe(0);
  });

  test('every change that may close a connection publishes the account once', async () => {
    const accountId = freshId();
    const listener = redis.duplicate();
    const heard: string[] = [];
    // The prefix is that of database 0.
    await listener.subscribe('0:standings');
    listener.on('message', (_, id) => id === accountId && heard.push(id));
    const key = standingKey(accountId);
    for (const quiet of [freeze, thaw, addGuest, unban]) await quiet(key);
    for (const loud of [ban, endSessions, markMoved, markDeleted]) await loud(key);
    await keepTombstone(key);
    await redis.publish('0:standings', 'the end');
    await expect.poll(() => heard).toHaveLength(4);
    listener.disconnect();
  });
});
