import { describe, expect, test } from 'vitest';
import { NameWords } from '../../../src/features/names/name-words.ts';

const list = new NameWords('# a remark\r\n\nass\nbadword\n*slur*\nплохо\n');

describe('a word of the list', () => {
  test('is refused in every disguise', () => {
    const names = [
      ...['ass', 'the ass 1', '4ss', 'àss', 'a.s.s', 'a s s', 'a\u200bss', '\u0430ss', 'the aSs', 'the bAdWoRd 2', 'ａｓｓ', 'b4dw0rd'],
      ...['baaadword!', 'xXslurXx', 'ПЛОХО 2', '\ufdfa\ufdfa\ufdfa\ufdfa ass', 'ａ\u0301ss'],
    ];
    expect(names.filter((name) => !list.refuses(name))).toEqual([]);
  });

  test('is not seen in other words', () => {
    const names = ['Classy', 'the cLaSsY', 'Assassin', 'Ada', 'sur', '名前', 'плохой', '😀😀', '...'];
    expect(names.filter((name) => list.refuses(name))).toEqual([]);
  });

  test('keeps the vowel signs of scripts that have them, which are no accents', () => {
    const hindi = new NameWords('कमल');
    expect([hindi.refuses('कमल'), hindi.refuses('कामिल')]).toEqual([true, false]);
  });
});

test.each([
  ['a\nb c\nx', 'line 1: must be a word of two letters or more, or one between asterisks'],
  ['good\n**', 'line 2: must be a word of two letters or more, or one between asterisks'],
  ['good\nb*d', 'line 2: must be a word of two letters or more, or one between asterisks'],
  [`${'x'.repeat(49)}`, 'line 1: a word has at most 48 characters'],
  ['xx\n'.repeat(20_001), 'line 20001: a list has at most 20000 words'],
])('a bad list is refused by its line', (text, message) => {
  expect(() => new NameWords(text)).toThrow(new Error(message));
});

test('the longest names cost some tens of microseconds of CPU with the longest list', () => {
  const letters = 'abcdefghijkmnopqrstuvwxyz';
  const word = (index: number): string =>
    Array.from({ length: 3 + (index % 20) }, (_, at) => letters[(index * 7 + at * (1 + (index % 11))) % letters.length]).join('');
  const long = new NameWords(Array.from({ length: 20_000 }, (_, index) => (index % 2 === 0 ? word(index) : `*${word(index)}*`)).join('\n'));
  const names = ['\ufdfa'.repeat(24), '😀'.repeat(24), 'qwxzjvqwxzjvqwxzjvqwxzjv', '1!2@3$4|5+6€7!8@9$0!1@2$', 'e\u0301'.repeat(12)];
  for (const name of names) for (let round = 0; round < 300; round++) long.refuses(name);
  for (const name of names) {
    const before = process.cpuUsage();
    for (let round = 0; round < 400; round++) long.refuses(name);
    expect([name, process.cpuUsage(before).user / 400]).toEqual([name, expect.toSatisfy((micros: number) => micros < 500)]);
  }
});
