import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { namedLines } from '../../../src/operator/shown/accounts-file.ts';
import { accountsIn } from '../../../src/operator/terminal/accounts-file.ts';

const [a, b] = ['A'.repeat(22), '-_0123456789abcdefghij'];
const read = (text: string) => accountsIn(text, 'f.csv').accounts.map(({ line, accountId }) => [line, accountId]);

describe('a file of accounts', () => {
  test.each([
    ['accountIds without a header', `${a}\n${b}\n`],
    ['a header in any case, and blanks', `AccountID\n ${a}\n${b} `],
    ['a byte order mark, CRLF and empty lines', `\uFEFF${a}\r\n\r\n${b}\r\n\r\n`],
    ['other columns in front', `note,account_id\n"lost, twice",${a}\n"a ""quote""",${b}`],
    ['semicolons', `accountId;note\n${a};x\n${b};`],
    ['a first line by which Excel names the separator', `sep=;\r\naccountId;note, of a kind\r\n${a};x\r\n${b};\r\n`],
    ['line breaks in quoted texts', `note,accountId\n"two\nlines, ""and"" more\r\n",${a}\nx,${b}`],
    ['rows of nothing but separators at the end', `accountId,note,coins\n${a},x,1\n${b},,\n,,\n,,\n`],
    ['an apostrophe before an id that begins like a formula, as the report of a grant has it', `accountId\n${a}\n'${b}`],
  ])('may have %s', (_name, text) => {
    expect(read(text).map(([, accountId]) => accountId)).toEqual([a, b]);
  });

  test('numbers lines like an editor', () => {
    expect(read(`accountId\n\n${a}\n${b}`)).toEqual([
      [3, a],
      [4, b],
    ]);
  });

  test('numbers a row by its first line, and names the columns that it does not read', () => {
    const { accounts, unread } = accountsIn(`coins,accountId,note\n5,${a},"one\ntwo"\n5,${b},x`, 'f.csv');
    expect(accounts.map(({ line }) => line)).toEqual([2, 4]);
    expect(unread).toEqual(['coins', 'note']);
    expect(accountsIn(`${a},5\n`, 'f.csv').unread).toEqual([]);
  });

  test('may have as many accounts as one run takes, beside a header', () => {
    const most = 100_000;
    const text = `accountId\r\n${`${a}\r\n`.repeat(most)}`;
    expect(namedLines(text, 'f.csv', { most, beyond: 'cut it' }).lines).toHaveLength(most);
    expect(() => namedLines(`${text}${a}`, 'f.csv', { most, beyond: 'cut it' })).toThrow('names more than 100000 accounts: cut it');
  });

  test('may have installIds under a header', () => {
    const odd = 'in,"stall"-1';
    expect(read(`installId\ninstall-0001\n"in,""stall""-1"`)).toEqual([
      [2, accountIdOf('install-0001')],
      [3, accountIdOf(odd)],
    ]);
  });

  test.each([
    ['', 'f.csv is empty.'],
    [
      'install-0001\n',
      'f.csv: line 1 is neither a header with a column accountId or installId, nor does it begin with an accountId. A file of installIds needs a header.',
    ],
    [`accountId,installId\n${a},x`, 'f.csv: line 1 has two columns that name accounts: leave one of them.'],
    [`${a}\nnobody\n${b}\n`, 'f.csv: line 2 has no accountId, which has 22 characters.'],
    ['installId\nshort\ninstall-0001', 'f.csv: line 2 has no installId of 8 to 128 visible characters.'],
    ['installId\ninstall,0001', 'f.csv: line 2 has 2 columns, and the first line 1 column.'],
    ['installId\n"install', 'f.csv: line 2 has a quote that does not end.'],
    ...['1.2E+19', '1,23457E+18', '#NAME?', '########', '-1e9'].map((cell): [string, string] => [
      `installId;x\ninstall-0001;\n${cell};`,
      'f.csv: line 3 has an id that a spreadsheet has damaged, such as 1.2E+19 or #NAME?: export the ids again, as text.',
    ]),
    [`${a}\n${'x'.repeat(5000)}`, 'f.csv: line 2 has more than 4096 characters.'],
    [
      `accountId\n${'no\n'.repeat(7)}`,
      `f.csv: ${[2, 3, 4, 5, 6].map((line) => `line ${line} has no accountId, which has 22 characters`).join('; ')}; and 2 more lines do not fit.`,
    ],
  ])('that does not fit is refused by the line, without its text', (text, message) => {
    expect(() => read(text)).toThrow(new Error(message));
  });
});
