import { expect, test } from 'vitest';
import { CompactJson, parseAround } from '../../../src/server/http/compact-field.ts';
import { seeded } from '../../seeded.ts';

const DEPTH = 6;

/** The text of `data`, if the body was not parsed whole; and the other fields. */
function around(body: string): { data: string; rest: object } | undefined {
  const read = parseAround('data', Buffer.from(body), DEPTH);
  if (read === undefined) return undefined;
  const { data, ...rest } = read;
  return { data: (data as CompactJson).text, rest };
}

test('the text of a field that JSON.stringify has written is found', () => {
  for (const data of [{ a: 1, b: [true, false, null, -7, 0, 31.5, -0.25, 'ä€😀 '], c: {}, d: [] }, 0, 'text', '', null, [[[]]]])
    for (const body of [{ data }, { installId: 'install-0001', data, ifVersion: 3, device: 'A: "{' }, { device: '', data }]) {
      const text = JSON.stringify(body);
      const { data: _, ...rest } = body;
      const isEscaped = text.includes('\\');
      expect(around(text)).toEqual(isEscaped ? undefined : { data: JSON.stringify(data), rest });
    }
});

test.each([
  [
    'no JSON',
    '{"data":tru}',
    '{"data":01}',
    '{"data":1.}',
    '{"data":.5}',
    '{"data":-}',
    '{"data":+1}',
    '{"data":[1,]}',
    '{"data":{"a":1,}}',
  ],
  ['no JSON', '{"data":{a:1}}', '{"data":"a}', '{"data":1', '{"data":1}}', '{"data":[1}}', '{"data":1}x', '', '[]', '{', '{"data":"\n"}'],
  ['without the field', '{}', '{"other":1}', '{"other":{"data":1}}', '[{"data":1}]', '"data"', '1'],
  ['blanks', '{"data": 1}', '{"data":[1, 2]}', ' {"data":1}', '{"data":1}\n', '{"data":{"a" :1}}'],
  [
    'numbers in another form',
    '{"data":1.0}',
    '{"data":-0}',
    '{"data":1e3}',
    '{"data":0.0000001}',
    '{"data":1234567890123456}',
    '{"data":0.10}',
  ],
  ['escapes', '{"data":"\\u0041"}', '{"data":{"\\u0061":1}}', '{"d\\u0061ta":1}'],
  ['a name twice', '{"data":1,"data":2}', '{"data":{"a":1,"b":2,"a":3}}', '{"installId":"a","installId":"b","data":1}'],
  ['indices as names', '{"data":{"b":1,"2":1,"1":1}}', '{"7":1,"data":1}'],
  ['too deep', `{"data":${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}}`],
])('a body with %s is left to JSON.parse', (_, ...bodies) => {
  for (const body of bodies) expect([body, around(body)]).toEqual([body, undefined]);
});

test('a text that it takes is always the one that JSON.stringify writes', () => {
  const random = seeded(17);
  const below = (bound: number): number => Math.floor(random() * bound);
  const names = ['', 'a', 'b', 'data', '__proto__', 'ä', '-1', 'constructor', '7', 'toString'];
  const value = (depth: number): unknown => {
    const kind = below(depth > 3 ? 6 : 9);
    if (kind === 0) return below(2) === 0 ? random() * 10 ** (below(30) - 10) : below(1e9) / 10 ** below(12);
    if (kind === 1) return below(2 ** below(54)) * (below(2) || -1);
    if (kind === 2) return [true, false, null][below(3)];
    if (kind < 6) return Array.from({ length: below(6) }, () => 'ab{}[],:"\\ 0\u0001é\u{1f600}\ud800'.charAt(below(17))).join('');
    if (kind === 6) return Array.from({ length: below(4) }, () => value(depth + 1));
    return Object.fromEntries(Array.from({ length: below(5) }, () => [names[below(names.length)], value(depth + 1)]));
  };
  let taken = 0;
  for (let round = 0; round < 20_000; round++) {
    const text = JSON.stringify({ installId: 'a', data: value(1), ifVersion: 1 });
    const at = below(text.length);
    // Half of the texts have one part removed, put twice, or replaced.
    const parts = ['', text.slice(at, at + 1 + below(8)).repeat(2), '{}[],:"\\0123456789.-+eE tfn'.charAt(below(26))];
    const body = round % 2 === 0 ? text : text.slice(0, at) + parts[below(3)]! + text.slice(at + 1 + below(3));
    const read = around(body.toWellFormed());
    if (read === undefined) continue;
    taken++;
    const { data, ...rest } = JSON.parse(body) as { data: unknown };
    expect([body, read]).toEqual([body, { data: JSON.stringify(data), rest }]);
  }
  expect(taken).toBeGreaterThan(4000);
});

test('bodies with thousands of names are read', () => {
  const data = Object.fromEntries(Array.from({ length: 4000 }, (_, index) => [`name-${index}`, index]));
  expect(around(JSON.stringify({ data }))?.data).toBe(JSON.stringify(data));
  const lists = { data: Array.from({ length: 500 }, () => ({ a: 1, b: 2, c: 3 })) };
  for (let repeated = 0; repeated < 20; repeated++) expect(around(JSON.stringify(lists))?.data).toBe(JSON.stringify(lists.data));
});
