import { describe, expect, test } from 'vitest';
import type { CommandGroup } from '../../../src/operator/terminal/command.ts';
import { durationOf } from '../../../src/operator/terminal/duration.ts';
import { helpOf, readInput } from '../../../src/operator/terminal/input.ts';
import { groups } from '../../../src/operator/terminal/groups.ts';
import { printable, printableJson, table } from '../../../src/operator/terminal/table.ts';
import { Failure } from '../../../src/process/command.ts';

const [accounts, keys, log] = ['accounts', 'keys', 'log'].map((name) => groups.find((group) => group.name === name)!) as [
  CommandGroup,
  CommandGroup,
  CommandGroup,
];

const scopes = ['coins', 'scores', 'rooms', 'saves', 'accounts:read', 'events', 'admin'].map((scope) => `"${scope}"`).join('|');
const expiry = '--expires takes a time such as 90d, 12h or 30m, at most ten years.';
const create = (...more: string[]) => ['keys', 'create', '--name', 'a', '--scopes', 'coins', '--yes', ...more];
test.each<[words: string[], error: string]>([
  [['keys', 'create', '--scopes', 'coins', '--yes'], '"keys create" needs --name NAME.'],
  [['keys', 'create', '--name', 'a', '--scopes', 'coins,all', '--yes'], `scopes: Invalid option: expected one of ${scopes}.`],
  [['keys', 'create', '--name', ' ', '--scopes', 'coins', '--yes'], 'name: must have 1 to 64 characters.'],
  [['keys', 'create', '--name', 'a\u202eb', '--scopes', 'coins', '--yes'], 'name: must hold no control or format characters.'],
  [create('--game', 'No Game'), 'game: Must be 1 to 64 of a-z, 0-9, _ and -, the first a letter or digit.'],
  [create('--expires', '99999d'), expiry],
  [create('--name', 'b'), '--name may be given once.'],
  [['keys', 'revoke', 'abcd1234', '--by', 'a b'], '--by takes a name of 1 to 24 letters, digits, ".", "_" and "-".'],
  [['keys', 'list', '--by', 'ada'], "Unknown option '--by'. See keys --help."],
  [['keys', 'revoke', '--yes'], '"keys revoke" needs ID: see keys --help.'],
  [['keys'], '"keys" needs a command: see keys --help.'],
  [['keys', 'toString'], 'There is no command "keys toString": see keys --help.'],
  [['nothing', '\u001b]0;x\u0007'], 'There is no group "nothing": see --help.'],
])('%j is refused', (words, message) => {
  const plan = () => {
    const { command, input } = readInput(words, [keys]);
    command!.plan(input);
  };
  expect(plan).toThrow(new Failure(message));
});

test('the help of the tool names the groups, and the help of a group names its commands and flags', () => {
  for (const words of [[], ['--help'], ['-h']]) expect(readInput(words, [keys]).help).toBe(true);
  expect(helpOf([keys], undefined)).toContain('  keys       the keys of your own servers: list, create, rotate, revoke\n');
  const { group } = readInput(['keys', '--help'], [keys]);
  expect(helpOf([keys], group)).toMatch(/  keys rotate ID\n      Makes a key .*\n      --overlap TIME +How long/);
});

test.each(['', '90', '-1d', '1.5d', '1 d', '3654d', '1D', '٣d', '99999999m'])('"%s" is not a valid time', (text) => {
  expect(() => durationOf('expires', text)).toThrow(Failure);
});

describe('terminal output', () => {
  test.each([
    ['an escape sequence', '\u001b[31mred', '\\u{1b}[31mred'],
    ['a C1 control character', '\u009b31m', '\\u{9b}31m'],
    ['a line break', 'a\nb\r', 'a\\u{a}b\\u{d}'],
    ['direction overrides', 'a\u202eb\u2066', 'a\\u{202e}b\\u{2066}'],
    ['invisible characters', 'a\u200bb\ufeff\u2028', 'a\\u{200b}b\\u{feff}\\u{2028}'],
    ['a lone surrogate', '\ud800', '\\u{d800}'],
    ['stacked marks', 'a\u0301\u0302\u0303\u0304\u0305b', 'a\u0301\u0302\u0303\\u{304}\\u{305}b'],
    ['letters, marks and emoji', 'Zoë 李 🎮', 'Zoë 李 🎮'],
  ])('of %s', (_, text, shown) => {
    expect(printable(text)).toBe(shown);
    expect(JSON.parse(printableJson({ text }))).toEqual({ text });
    expect(printableJson({ text }).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}]/u);
  });

  test('a table that is wider than the terminal continues in further lines, without empty lines', () => {
    const rows = [
      ['1', 'ada@ops-1', 'account=abc', 'ticket 1'],
      ['22', 'bob', 'room=BCDFG', ''],
      ['3', 'bob', '', ''],
    ];
    const lines = [
      'NO  WHO',
      '    WHAT         WHY',
      '1   ada@ops-1',
      '    account=abc  ticket 1',
      '22  bob',
      '    room=BCDFG   -',
      '3   bob',
    ];
    expect(table(['NO', 'WHO', 'WHAT', 'WHY'], rows, 25)).toBe(lines.join('\n'));
  });

  test.each([
    ['is as wide as its text in a terminal', ['李明', 'e\u0301e', '🎮'], 'A     B\n李明  x\ne\u0301e    x\n🎮    x'],
    ['has a dash for an empty cell, and no control character', ['', 'x\n'], 'A       B\n-       x\nx\\u{a}  x'],
    ['has no cell of more than 80 characters', ['y'.repeat(100)], `A${' '.repeat(79)}  B\n${'y'.repeat(79)}…  x`],
  ])('a column of a table %s', (_, cells, expected) => {
    expect(
      table(
        ['A', 'B'],
        cells.map((cell) => [cell, 'x']),
      ),
    ).toBe(expected);
  });
});

test.each([
  ['a number of coins', ['accounts', 'adjust', 'a'.repeat(22), '-50', '--key', '-7', '--reason', 'x'], ['a'.repeat(22), '-50'], '-7'],
  ['an accountId', ['accounts', 'adjust', `-${'b'.repeat(21)}`, '5', '--key', 'k', '--reason', 'x'], [`-${'b'.repeat(21)}`, '5'], 'k'],
  ['two dashes', ['accounts', 'adjust', `--${'b'.repeat(20)}`, '5', '--key', 'k', '--reason', 'x'], [`--${'b'.repeat(20)}`, '5'], 'k'],
])('a word that begins with a dash is no flag if it is %s', (_, words, expected, key) => {
  const { input } = readInput(words, [accounts]);
  expect([input.words, input.flags['key']]).toEqual([expected, key]);
});

test('a group with a default command does not need the name of the command', () => {
  expect(readInput(['log'], [log]).command).toBe(log.commands['list']);
  expect(readInput(['log', '--limit', '5', '--json'], [log])).toMatchObject({ json: true, input: { words: [], flags: { limit: '5' } } });
  expect(() => readInput(['log', 'nothing'], [log])).toThrow(new Failure('There is no command "log nothing": see log --help.'));
});
