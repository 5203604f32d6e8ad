import { Redis } from 'ioredis';
import { afterAll, expect, inject, test } from 'vitest';
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

test.each<[what: string, header: string, complaint: string, more?: object]>([
  ['names another key', HEADER.replace('KEYS seat_count', 'KEYS seats'), 'says KEYS "seats", its declaration "seat_count"'],
  ['has the arguments in another order', HEADER.replace('player_id, at', 'at, player_id'), 'says ARGV "at player_id", its declaration'],
  ['lacks an answer', HEADER.replace(' room_full', ''), 'says Answers "done", its declaration "done room_full"'],
  ['lacks a line', HEADER.replace('-- ARGV player_id, at\n', ''), 'says ARGV "", its declaration "player_id at"'],
  ['names a shared argument that is not declared', `${HEADER}-- Shared rules\n`, 'says Shared "rules", its declaration ""'],
  ['names no prelude', HEADER, 'names the prelude none, its declaration prelude.lua', { prelude: lua('prelude', '') }],
  ['names a library that is not declared', `${HEADER}-- Library a.lua\n`, 'names the library a.lua, its declaration none'],
])('a script does not load if its header %s', (_, header, complaint, more) => {
  const file = nextScript(header + BODY);
  expect(() => defineScript({ file, ...declared, ...more })).toThrow(`script-${files}.lua: its header ${complaint}`);
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
  const header = `-- KEYS -\n-- ARGV -\n-- Answers done(text)\n-- Prologue ${prologue.file}: found\n-- Library names.lua: name_of\n-- Library seats.lua: seats_of\n`;
  const file = nextScript(`${header}return {'done', name_of(found) .. ' ' .. name_of(seats_of(found))}`);
  const script = defineScript({ file, keys: [], args: [], answers: ['done'], prologue, library: [names, seats] });
  expect(script.text.match(/function seats_of/g)).toHaveLength(1);
  const call = { callerKey: undefined, addTo: (_keys: string[], args: (string | number)[]) => void args.push(3) };
  const read = (answer: string[] | Error) => answer as string[];
  expect(await scripts.run(script, {}, {}, { ...call, read, prepareRepeat: async () => {} })).toEqual(['done', 'p6 p12']);
});

test('a script without keys and arguments does not load: calls that leave together could not be counted', () => {
  const file = nextScript(`-- KEYS -\n-- ARGV -\n-- Answers done\n${BODY}`);
  expect(() => defineScript({ file, keys: [], args: [], answers: ['done'] })).toThrow('its calls cannot be counted');
});

test('shared arguments reach Redis once a batch, and calls with other values are answered by their own', async () => {
  const echo = defineScript({
    file: nextScript(
      `-- KEYS -\n-- ARGV word\n-- Shared rules, day\n-- Answers done(text)\nreturn {'done', word .. ' ' .. rules .. ' ' .. day .. ' ' .. now}`,
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
  expect(answers.map(([, text]) => text)).toEqual(calls.map(({ word, rules, day }) => `${word} ${rules} ${day} 1234`));
  expect(sent).toEqual([
    [1234, 'x', 1, 'a', 'b'],
    [1234, '', 1, 'c', 'd'],
    [1234, '', 2, 'e'],
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
