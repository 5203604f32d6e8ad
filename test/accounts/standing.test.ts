import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { standingKey } from '../../src/accounts/account-keys.ts';
import { leadsTo, parseStanding, standingChanges, standingLibrary, type Standing } from '../../src/accounts/standing.ts';
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

const readScript = scriptOf(
  'read',
  `
local state, detail, generation, moved_in = standing_of(standing)
local guests, unfiled = count_guests(moved_in)
local ids, listed = {}, {}
for id in pairs(guest_set(moved_in)) do ids[#ids + 1] = id end
for _, guest in ipairs(unfiled_guests(moved_in)) do listed[#listed + 1] = table.concat({guest.id, guest.entries, guest.number}, ' ') end
table.sort(ids)
return {'done', state, detail, generation, table.concat(ids, ' '), guests .. ' ' .. unfiled, table.concat(listed, ','),
  has_filed_guest(moved_in) and 'filed' or '', has_guest(moved_in, 'guest-a') and 'has guest-a' or '',
  state == 'deleted' and is_erased(standing) and 'erased' or '',
  state == 'moving' and table.concat({move_of(standing)}, ' ') or ''}`,
);

/** The record as the library reads it, in the words of `Standing`. */
async function readByLua(key: string) {
  const [, state, detail, generation, ids, counts, unfiled, filed, hasGuestA, erased, move] = await scripts.run(
    readScript,
    { standing: key },
    { words: '' },
  );
  return { state, detail, generation, ids, counts, unfiled, filed, hasGuestA, erased, move };
}

/** The same words for a parsed record. */
function told({ deleted, ban, target, moving, generation, guests }: Standing, move: string) {
  const isBanned = ban !== undefined && (ban.until === undefined || ban.until > NOW);
  const [state, detail] =
    deleted !== undefined
      ? ['deleted', String(deleted.at)]
      : target !== undefined
        ? ['moved', target]
        : moving !== undefined
          ? ['moving', '']
          : isBanned
            ? ['banned', String(ban.until ?? 0)]
            : ['open', ''];
  const unfiled = guests.filter(({ isFiled }) => !isFiled);
  return {
    state,
    detail,
    generation: String(generation),
    ids: guests
      .map(({ id }) => id)
      .toSorted()
      .join(' '),
    counts: `${guests.length} ${unfiled.length}`,
    unfiled: unfiled.map(({ id, lastSeq, number }) => `${id} ${lastSeq} ${number}`).join(','),
    filed: unfiled.length < guests.length ? 'filed' : '',
    hasGuestA: guests.some(({ id }) => id === 'guest-a') ? 'has guest-a' : '',
    erased: deleted?.isClosed === true ? 'erased' : '',
    move: moving === undefined ? '' : move,
  };
}

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
  test.each<[record: string, standing: Partial<Standing>]>([
    ['', {}],
    ['#3\n', { generation: 3 }],
    [GUESTS, { guests }],
    [`#12\n${GUESTS}`, { generation: 12, guests }],
    ['guest-b 700*1\n', { guests: [{ id: 'guest-b', number: 1, lastSeq: 700, isFiled: false }] }],
    ['>some-account', { target: 'some-account' }],
    [FROZEN, { moving: { moveId: 'move-1', target: 'some-account' } }],
    [`${FROZEN}#2\n`, { moving: { moveId: 'move-1', target: 'some-account' }, generation: 2 }],
    [
      `${FROZEN}!4999 4000 -\n#2\n`,
      { moving: { moveId: 'move-1', target: 'some-account' }, ban: { until: 4999, since: 4000, reason: '' }, generation: 2 },
    ],
    [BAN, { ban: forEver }],
    [`${BAN}#3\n${GUESTS}`, { ban: forEver, generation: 3, guests }],
    [`!5001 4000 -\n#3\n`, { ban: { until: 5001, since: 4000, reason: '' }, generation: 3 }],
    [`!5000 4000 -\n#3\n`, { ban: { until: 5000, since: 4000, reason: '' }, generation: 3 }],
    ['=4500', { deleted: { at: 4500, isClosed: true } }],
    ['=4500\n', { deleted: { at: 4500, isClosed: false } }],
    [`=4500\n${BAN}#3\n${GUESTS}`, { deleted: { at: 4500, isClosed: false }, ban: forEver, generation: 3, guests }],
  ])('%j', async (record, standing) => {
    const key = standingKey(freshId());
    if (record !== '') await redis.set(key, record);
    expect(parseStanding(await redis.get(key))).toEqual({ ...nothing, ...standing });
    expect(await readByLua(key)).toEqual(told({ ...nothing, ...standing }, 'move-1 some-account google 2026-11-22'));
  });

  test('lines that no version writes are counted', () => {
    expect(parseStanding('guest-a 3=\nnonsense\nguest-c 1=').unreadable).toBe(2);
  });
});

describe('TypeScript reads the records that Lua writes', () => {
  const change = (name: string, call: string) => {
    const script = scriptOf(name, `local found = ${call}\nreturn {'done', tostring(found)}`);
    return async (key: string, now = NOW): Promise<string> =>
      (await new ScriptRunner(redis, { now: () => now }).run(script, { standing: key }, { words: '' }))[1]!;
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
  const addFiled = change('add-filed', `add_guest(standing, 'guest-a', 3, 1, true)`);
  const addUnfiled = change('add-unfiled', `add_guest(standing, 'guest-b', 700, 2, false)`);
  const standingAt = async (key: string) => parseStanding(await redis.get(key));

  test('a guest is frozen for one move, and gets its earlier standing back', async () => {
    const key = standingKey(freshId());
    expect(await isFrozen(key)).toBe('false');
    await endSessions(key);
    await freeze(key);
    expect([await isFrozen(key), await isFrozenForOther(key)]).toEqual(['true', 'false']);
    expect(await standingAt(key)).toEqual({ ...nothing, generation: 1, moving: { moveId: 'move-1', target: 'some-account' } });
    await thaw(key);
    expect(await standingAt(key)).toEqual({ ...nothing, generation: 1 });
  });

  const kept = { ...nothing, guests: guests.slice(0, 1) };
  const banned = { ...kept, ban: { until: 6000, since: 4000, reason: '' } };

  test('a ban replaces another ban and keeps the rest, and its end restores the rest', async () => {
    const key = standingKey(freshId());
    expect(await unban(key)).toBe('false');
    await addFiled(key);
    await ban(key);
    expect(await standingAt(key)).toEqual(banned);
    await banAgain(key);
    expect(await standingAt(key)).toEqual({ ...kept, ban: { until: undefined, since: 4500, reason: 'cheats' } });
    expect(await unban(key)).toBe('true');
    expect(await standingAt(key)).toEqual(kept);
  });

  test('a standing without a line leaves no key', async () => {
    const key = standingKey(freshId());
    for (const change of [freeze, thaw, ban, unban]) await change(key);
    expect(await redis.exists(key)).toBe(0);
  });

  test('each sign-out everywhere begins a new generation, also for a banned account', async () => {
    const key = standingKey(freshId());
    await addFiled(key);
    expect(await endSessions(key)).toBe('1');
    await ban(key);
    expect(await endSessions(key)).toBe('2');
    expect(await standingAt(key)).toEqual({ ...banned, generation: 2 });
  });

  test('guests are added in the order of their moves', async () => {
    const key = standingKey(freshId());
    await addFiled(key);
    await addUnfiled(key);
    expect(await standingAt(key)).toEqual({ ...nothing, guests: guests.slice(0, 2) });
  });

  test('a moved guest keeps its target, and a guest that is deleted after its move has no target', async () => {
    const key = standingKey(freshId());
    await freeze(key);
    expect(leadsTo(await standingAt(key), 'some-account')).toBe(true);
    await markMoved(key);
    expect(await standingAt(key)).toEqual({ ...nothing, target: 'some-account' });
    expect([leadsTo(await standingAt(key), 'some-account'), leadsTo(await standingAt(key), 'other')]).toEqual([true, false]);
    await markDeleted(key);
    expect(await standingAt(key)).toEqual({ ...nothing, deleted: { at: 4500, isClosed: false } });
  });

  test('a deleted account keeps its guests until everything is erased, and then only the time', async () => {
    const key = standingKey(freshId());
    await addFiled(key);
    await ban(key);
    await markDeleted(key);
    expect(await standingAt(key)).toEqual({ ...banned, deleted: { at: 4500, isClosed: false } });
    await keepTombstone(key);
    expect(await standingAt(key)).toEqual({ ...nothing, deleted: { at: 4500, isClosed: true } });
  });

  test('every change that may close a connection publishes the account once', async () => {
    const accountId = freshId();
    const listener = redis.duplicate();
    const heard: string[] = [];
    // The prefix is that of database 0.
    await listener.subscribe('0:standings');
    listener.on('message', (_, id) => id === accountId && heard.push(id));
    const key = standingKey(accountId);
    for (const quiet of [freeze, thaw, addFiled, unban]) await quiet(key);
    for (const loud of [ban, endSessions, markMoved, markDeleted]) await loud(key);
    await keepTombstone(key);
    await redis.publish('0:standings', 'the end');
    await expect.poll(() => heard).toHaveLength(4);
    listener.disconnect();
  });
});
