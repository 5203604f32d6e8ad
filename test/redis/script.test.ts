import { Redis } from 'ioredis';
import { afterAll, expect, inject, test } from 'vitest';
import { defineLibrary, defineScript } from '../../src/redis/script.ts';
import { defineFormat, letters, optional, rest, whole } from '../../src/redis/text-format.ts';
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

test('a script does not load if its header lacks an argument of its declaration', () => {
  const file = nextScript(`-- KEYS seat_count\n-- ARGV player_id\n-- Answers done\nreturn {'done'}`);
  expect(() => defineScript({ file, keys: ['seatCount'], args: ['playerId', 'at'], answers: ['done'] })).toThrow(
    `script-${files}.lua: its header says ARGV "player_id", its declaration "player_id at"`,
  );
});

test('a script without keys and arguments does not load: calls that leave together could not be counted', () => {
  const file = nextScript(`-- KEYS -\n-- ARGV -\n-- Answers done\nreturn {'done'}`);
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

const pair = defineFormat('pair', '<count>:<name>[ <note>]', { count: whole, name: letters, note: optional(rest) });

test.each([
  [`string.match('', '<twin>')`, `'<twin>': the script has no such format`],
  [`string.match('', '<pair: size>')`, `'<pair: size>': it has no field size`],
  [`string.match('', '<pair: name, count>')`, `'<pair: name, count>': the fields have another order`],
  [`string.format('<pair: count>', 1)`, `'<pair: count>': it lacks name`],
  [`string.sub('', '<pair: name>')`, `'<pair: name>': the place of name is not fixed`],
  [`string.rep('<pair: name>', 2)`, `'<pair: name>': string.rep takes no format`],
])('a script does not load with %s', (call, message) => {
  const file = nextScript(`-- KEYS key\n-- ARGV -\n-- Answers done\nreturn {'done', ${call}}`);
  expect(() => defineScript({ file, keys: ['key'], args: [], answers: ['done'], formats: [pair] })).toThrow(
    `script-${files}.lua: ${message}`,
  );
});

test('a library gives its functions, its formats and values of TypeScript', async () => {
  const library = defineLibrary(
    nextScript("local function noted(text) return string.match(text, '<pair: note>') .. MARK .. WORDS[2] end"),
    {
      formats: [pair],
      constants: { MARK: '!', WORDS: ['a', 'b'] },
    },
  );
  const file = nextScript(
    `-- KEYS key\n-- ARGV text\n-- Library ${library.file}: noted\n-- Answers done\nreturn {'done', noted(text), string.match(text, '<pair: count..name>')}`,
  );
  const script = defineScript({ file, keys: ['key'], args: ['text'], answers: ['done'], library });
  expect(await scripts.run(script, { key: '{pair}' }, { text: '7:seven of nine' })).toEqual(['done', 'of nine!b', '7:seven']);
});

test('no format has a field that its layout lacks, or an optional field without brackets', () => {
  expect(() => defineFormat('pair', '<count>', { count: whole, name: letters })).toThrow('"<count>" lacks a field of pair');
  expect(() => defineFormat('pair', '<count>', { count: optional(whole) })).toThrow('count of pair is not declared as "<count>" has it');
});

test('a script of one line stands in its declaration', async () => {
  const lua = `return {'done', word .. ' ' .. string.match('7:seven', '<pair: name>')}`;
  const script = defineScript({ name: 'redis/one-line', lua, keys: ['key'], args: ['word'], answers: ['done'], formats: [pair] });
  expect(script.name).toBe('redis/one-line');
  expect(await scripts.run(script, { key: '{pair}' }, { word: 'lucky' })).toEqual(['done', 'lucky seven']);
});
