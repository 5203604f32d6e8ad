import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountsIn } from '../../../src/operator/terminal/accounts-file.ts';

const [a, b] = ['A'.repeat(22), '-_0123456789abcdefghij'];
const read = (text: string) => accountsIn(text, 'f.csv').map(({ line, accountId }) => [line, accountId]);

describe('a file of accounts', () => {
  test.each([
    ['accountIds without a header', `${a}\n${b}\n`],
    ['a header in any case, and blanks', `AccountID\n ${a}\n${b} `],
    ['a byte order mark, CRLF and empty lines', `\uFEFF${a}\r\n\r\n${b}\r\n\r\n`],
    ['other columns in front', `note,account_id\n"lost, twice",${a}\n"a ""quote""",${b}`],
    ['semicolons', `accountId;note\n${a};x\n${b};`],
  ])('may have %s', (_name, text) => {
    expect(read(text).map(([, accountId]) => accountId)).toEqual([a, b]);
  });

  test('numbers lines like an editor', () => {
    expect(read(`accountId\n\n${a}\n${b}`)).toEqual([
      [3, a],
      [4, b],
    ]);
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
    [`${a}\n${'x'.repeat(5000)}`, 'f.csv: line 2 has more than 4096 characters.'],
    [
      `accountId\n${'no\n'.repeat(7)}`,
      `f.csv: ${[2, 3, 4, 5, 6].map((line) => `line ${line} has no accountId, which has 22 characters`).join('; ')}; and 2 more lines do not fit.`,
    ],
  ])('that does not fit is refused by the line, without its text', (text, message) => {
    expect(() => read(text)).toThrow(new Error(message));
  });
});
