import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { definePrologue, defineScript } from '../../src/redis/script.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { freshId } from '../harness.ts';
import { lua } from '../lua-files.ts';

const redis = new Redis({ path: inject('redisSocket') });
const scripts = new ScriptRunner(redis, { now: Date.now });
afterAll(() => {
  redis.disconnect();
});

let files = 0;
const nextScript = (text: string): URL => lua(`script-${++files}`, text);

const declared = { keys: ['seatCount'], args: ['playerId', 'at'], answers: ['done', 'room_full'] } as const;
const HEADER = '-- KEYS seat_count\n-- ARGV player_id, at\n-- Answers done(count) room_full\n';
const BODY = `return {'done'}`;

describe('a script loads if its header matches its declaration', () => {
  test.each([
    ['in Lua’s spelling', HEADER],
    ['with colons', HEADER.replaceAll(/^(-- \w+)/gm, '$1:')],
    ['after a line of prose', `-- Takes a seat.\n${HEADER}`],
    ['with remarks in brackets', HEADER.replace('seat_count', 'seat_count (a number)')],
  ])('%s', (_, header) => {
    const { keys, args, answers } = defineScript({ file: nextScript(header + BODY), ...declared });
    expect({ keys, args, answers }).toEqual(declared);
  });
});

describe('a script does not load if its header', () => {
  test.each([
    ['names another key', 'KEYS seat_count', 'KEYS seats', 'KEYS "seats", its declaration "seat_count"'],
    ['names a key too many', 'KEYS seat_count', 'KEYS seat_count players', 'KEYS "seat_count players", its declaration "seat_count"'],
    ['has the arguments in another order', 'player_id, at', 'at, player_id', 'ARGV "at player_id", its declaration "player_id at"'],
    ['spells an argument as TypeScript does', 'player_id', 'playerId', 'ARGV "playerId at", its declaration "player_id at"'],
    ['lacks an answer', ' room_full', '', 'Answers "done", its declaration "done room_full"'],
    ['lacks a line', '-- ARGV player_id, at\n', '', 'ARGV "", its declaration "player_id at"'],
    ['names a shared argument that is not declared', '-- Answers', '-- Shared rules\n-- Answers', 'Shared "rules", its declaration ""'],
  ])('%s', (_, part, changed, complaint) => {
    expect(HEADER).toContain(part);
    const file = nextScript(HEADER.replace(part, changed) + BODY);
    expect(() => defineScript({ file, ...declared })).toThrow(`script-${files}.lua: its header says ${complaint}`);
  });
});

test.each([
  ['names no prelude', HEADER, 'names the prelude none, its declaration prelude.lua'],
  ['names another prelude', `${HEADER}-- Prelude other.lua: seat_of\n`, 'names the prelude other.lua, its declaration prelude.lua'],
  [
    'names a library that is not declared',
    `${HEADER}-- Prelude prelude.lua\n-- Library a.lua\n`,
    'names the library a.lua, its declaration none',
  ],
])('a script with a prelude does not load if its header %s', (_, header, complaint) => {
  const prelude = lua('prelude', '');
  expect(() => defineScript({ file: nextScript(header + BODY), ...declared, prelude })).toThrow(`its header ${complaint}`);
});

test('a script has the functions of all its libraries, and a library that its prologue names too is in the text once', async () => {
  const seats = lua('seats', 'local function seats_of(count) return 2 * count end\n');
  const names = lua('names', `local function name_of(count) return 'p' .. count end\n`);
  const prologue = definePrologue({
    file: nextScript('-- KEYS -\n-- ARGV count\n-- Library seats.lua: seats_of\n-- Answers -\nlocal found = seats_of(count)\n'),
    keys: [],
    args: ['count'],
    answers: [],
    library: seats,
  });
  const header = `-- KEYS -\n-- ARGV -\n-- Answers done(text)\n-- Prologue ${prologue.file}: found\n`;
  const body = `return {'done', name_of(found) .. ' ' .. name_of(seats_of(found))}`;
  const declaration = { keys: [], args: [], answers: ['done'], prologue, library: [names, seats] } as const;
  const libraries = '-- Library names.lua: name_of\n-- Library seats.lua: seats_of\n';
  const script = defineScript({ file: nextScript(header + libraries + body), ...declaration });
  expect(script.text.match(/function seats_of/g)).toHaveLength(1);
  const call = { callerKey: undefined, addTo: (_keys: string[], args: (string | number)[]) => void args.push(3) };
  const read = (answer: string[] | Error) => answer as string[];
  expect(await scripts.run(script, {}, {}, { ...call, read, prepareRepeat: async () => {} })).toEqual(['done', 'p6 p12']);
  const file = nextScript(header + libraries.replace('-- Library seats.lua: seats_of\n', '') + body);
  expect(() => defineScript({ file, ...declaration })).toThrow('names the library names.lua, its declaration names.lua, seats.lua');
});

test('a script without keys and arguments does not load: calls that leave together could not be counted', () => {
  const file = nextScript(`-- KEYS -\n-- ARGV -\n-- Answers done\n${BODY}`);
  expect(() => defineScript({ file, keys: [], args: [], answers: ['done'] })).toThrow('its calls cannot be counted');
});

test('shared arguments reach Redis once a batch, and calls with other values are answered by their own', async () => {
  const echo = defineScript({
    file: nextScript(
      `-- KEYS -\n-- ARGV word\n-- Shared rules, day\n-- Answers done(text)\nreturn {'done', word .. ' ' .. rules .. ' ' .. day}`,
    ),
    keys: [],
    args: ['word'],
    shared: ['rules', 'day'],
    answers: ['done'],
  });
  const sent: (string | number)[][] = [];
  const recording = new ScriptRunner(
    { call: (command, words) => (command === 'EVALSHA' && sent.push(words.slice(2)), redis.call(command, words)) },
    { now: () => 1234 },
  );
  const calls = [
    { word: 'a', rules: 'x', day: 1 },
    { word: 'b', rules: 'x', day: 1 },
    { word: 'c', rules: '', day: 1 },
    { word: 'd', rules: '', day: 1 },
    { word: 'e', rules: '', day: 2 },
  ];
  const answers = await Promise.all(calls.map((call) => recording.run(echo, {}, call)));
  expect(answers.map(([, text]) => text)).toEqual(calls.map(({ word, rules, day }) => `${word} ${rules} ${day}`));
  expect(sent).toEqual([
    [1234, 'x', 1, 'a', 'b'],
    [1234, '', 1, 'c', 'd'],
    [1234, '', 2, 'e'],
  ]);
});

test('a script sees the time at which its calls left as now', async () => {
  const clock = defineScript({
    file: nextScript(`-- KEYS -\n-- ARGV word\n-- Answers done(time)\nreturn {'done', now .. word}`),
    keys: [],
    args: ['word'],
    answers: ['done'],
  });
  let time = 1_795_334_597_614;
  const timed = new ScriptRunner(redis, { now: () => time });
  const first = timed.run(clock, {}, { word: '!' });
  time += 7;
  expect(await first).toEqual(['done', '1795334597621!']);
});

test('calls of a script without keys leave together, and each is answered by its own arguments', async () => {
  const echo = defineScript({
    file: nextScript(`-- KEYS -\n-- ARGV word, count\n-- Answers done(text)\nreturn {'done', string.rep(word, tonumber(count))}`),
    keys: [],
    args: ['word', 'count'],
    answers: ['done'],
  });
  const answers = await Promise.all([1, 2, 3].map((count) => scripts.run(echo, {}, { word: `a${count}`, count })));
  expect(answers).toEqual([
    ['done', 'a1'],
    ['done', 'a2a2'],
    ['done', 'a3a3a3'],
  ]);
});

test('a read-only script may read, and may not write', async () => {
  const key = `{${freshId()}}:note`;
  await redis.set(key, 'kept');
  const [reading, writing] = [`redis.call('GET', note)`, `redis.call('SET', note, '')`].map((command) =>
    defineScript({
      file: nextScript(`-- KEYS note\n-- ARGV -\n-- Answers done\nreturn {'done', ${command}}`),
      keys: ['note'],
      args: [],
      answers: ['done'],
      readOnly: true,
    }),
  );
  expect(await scripts.run(reading!, { note: key }, {})).toEqual(['done', 'kept']);
  await expect(scripts.run(writing!, { note: key }, {})).rejects.toThrow('Write commands are not allowed from read-only scripts');
  expect(await redis.get(key)).toBe('kept');
});
