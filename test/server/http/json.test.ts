import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parseJson, problemOf, unkeptIn } from '../../../src/server/http/json.ts';

const EXACT = 'Must be a whole number that a double holds exactly, or a text';
const RANGE = 'Must be a number within the range of doubles';
const HALF = 'Must have no half surrogates';
const NAME = 'Must have a name without half surrogates';

describe('free JSON', () => {
  test.each([
    ['a whole number between two doubles', '{"n":9007199254740993}', 'n', EXACT],
    ['a whole number whose shortest digits are others', '{"n":12345678901234567890}', 'n', EXACT],
    ['a negative one', '{"n":-9007199254740993}', 'n', EXACT],
    ['a number above the doubles', '{"a":{"b":[0,1e400]}}', 'a.b.1', RANGE],
    ['a number below the doubles, with a sign in the exponent', '[-1.5E+309]', '0', RANGE],
    ['a whole number of 400 digits', `{"n": ${'9'.repeat(400)}}`, 'n', RANGE],
    ['half a surrogate pair', '{"a":1,"t":"x\\ud800"}', 't', HALF],
    ['two halves in the wrong order', '["\\uDE00\\uD83D"]', '0', HALF],
    ['half a surrogate pair in a name', '{"o":{"\\udc00":[1,{"message":1e400}],"b":2}}', 'o.\udc00', NAME],
    ['half a surrogate pair in the name of true', '{"\\ud800":true}', '\ud800', NAME],
    ['half a surrogate pair in the name of null', '[{"\\udfff" : null}]', '0.\udfff', NAME],
    ['the first of two', '{"a":[1,{"x":1e999}],"b":1e999}', 'a.1.x', RANGE],
    ['a member named __proto__', '{"__proto__":{"n":1e400}}', '__proto__.n', RANGE],
    ['a name with an escaped quote', '{"a\\"]":[{}, 1e400]}', 'a"].1', RANGE],
  ])('%s is named by its path', (_, text, path, message) => {
    const found = unkeptIn(parseJson(text));
    expect([found?.path.join('.'), found?.message]).toEqual([path, message]);
  });

  test.each([
    '{"n":9007199254740992,"m":-9007199254740991}',
    '{"shortest":12345678901234567000,"exact":12345678901234567168}',
    '{"a":1e21,"b":1e300,"c":1.7976931348623157e308,"d":1e-400,"e":-0,"f":12345678901234567890.5,"g":0.0001e311}',
    '{"text":"9007199254740993 ,1e400 \\ud83d\\ude00 \\\\ud800","1e400":":1e400"}',
    `[${'9'.repeat(15)},1000000000000000000000]`,
  ])('%s is parsed as JSON.parse does', (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text));
    expect(unkeptIn(parseJson(text))).toBeUndefined();
    expect(() => JSON.stringify(parseJson(text))).not.toThrow();
  });

  test('an unkept value cannot be written by mistake, and is no object to a shape without needed fields', () => {
    expect(() => JSON.stringify(parseJson('{"n":1e400}'))).toThrow('did not ask');
    const shape = z.object({ settings: z.object({ message: z.string().optional() }) });
    for (const json of ['"\\ud800"', '12345678901234567', '1e400'])
      expect([json, shape.safeParse(parseJson(`{"settings":${json}}`)).success]).toEqual([json, false]);
    expect(z.object({}).safeParse(parseJson('"\\ud800"')).success).toBe(false);
  });

  test('of two members of one name the last counts, and a number under such a name keeps its message', () => {
    expect(parseJson('{"a":{"b":1},"a":2,"c":[1234567890123456]}')).toEqual({ a: 2, c: [1234567890123456] });
    expect(problemOf(parseJson('{"a":1e400,"a":{"message":1e400}}'), { path: ['a'], message: 'Invalid input' })).toBe(RANGE);
  });

  test('a field that is missing is called so, and one of a wrong type keeps what zod says', () => {
    const shape = z.object({ game: z.string() });
    const said = (value: object) => problemOf(value, shape.safeParse(value).error!.issues[0]!);
    expect([said({}), said({ game: 1 })]).toEqual(['Is missing', 'Invalid input: expected string, received number']);
  });

  test('any JSON that JSON.stringify wrote is kept', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = JSON.stringify({ value, long: 1234567890123456 });
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 50 },
    );
  });
});
