import { describe, expect, test } from 'vitest';
import { freshId, request, signIn, type TestReply, type TestService } from '../../harness.ts';

/**
 * Tests of the common rules of credit, purchase and debit.
 * @param after the balance after an operation with 10 coins on a balance of 100
 */
export function testOperationRules(operation: 'credit' | 'purchase' | 'debit', after: number, running: () => TestService): void {
  const path = `/v1/coins/${operation}`;
  const send = (text: string, cookies?: string): Promise<TestReply> =>
    request(running().url, path, { method: 'POST', ...(cookies === undefined ? {} : { cookies }) }, text);
  const apply = (installId: string | undefined, coins: number, key: string, cookies?: string): Promise<TestReply> =>
    send(JSON.stringify({ installId, coins, key }), cookies);
  const balanceOf = async (installId: string): Promise<number> =>
    (await running().get('/v1/balance', { headers: { 'x-install-id': installId } })).body.balanceCoins;

  /** A new install with 100 coins. The key `opening` is used. */
  async function rich(): Promise<string> {
    const installId = freshId();
    const { body } = await running().post('/v1/coins/purchase', { installId, coins: 100, key: 'opening' });
    expect(body).toEqual({ ok: true, balanceAfterCoins: 100 });
    return installId;
  }

  describe('input', () => {
    test.each(badFields)('$field is refused when it is: $name', async ({ field, raw }) => {
      const installId = await rich();
      const fields: Record<string, string> = { installId: JSON.stringify(installId), coins: '10', key: '"key"', [field]: raw };
      const { status, body } = await send(jsonOf(fields));
      expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', field]);
      expect(body.error.issues).toEqual([{ path: field, message: expect.any(String) }]);
      expect(body.error.message).toContain(field);
      expect(await balanceOf(installId)).toBe(100);
      // The refused request did not use up the key.
      expect((await apply(installId, 10, 'key')).body).toEqual({ ok: true, balanceAfterCoins: after });
    });

    test.each(goodFields)('$field is accepted when it is: $name', async ({ field, raw, balance }) => {
      const installId = await rich();
      await running().post('/v1/coins/credit', { installId, coins: 1_000_000, key: 'more' });
      const fields: Record<string, string> = { installId: JSON.stringify(installId), coins: '10', key: '"key"', [field]: raw };
      const { body } = await send(jsonOf(fields));
      expect(body).toEqual({ ok: true, balanceAfterCoins: balance[operation === 'debit' ? 'debit' : 'credit'] });
    });

    test('unknown fields are ignored', async () => {
      const installId = await rich();
      const { body } = await send(
        JSON.stringify({ installId, coins: 10, key: 'a', balanceCoins: 5_000, accountId: 'other', type: 'merge', at: 0, more: [{}] }),
      );
      expect(body).toEqual({ ok: true, balanceAfterCoins: after });
    });

    test('__proto__ and constructor in the body are unknown fields and pollute no object', async () => {
      const installId = await rich();
      const { body } = await send(
        `{"__proto__":{"coins":1000000,"polluted":1},"constructor":{"prototype":{"polluted":1}},"installId":"${installId}","coins":10,"key":"a"}`,
      );
      expect(body).toEqual({ ok: true, balanceAfterCoins: after });
      expect(({} as { polluted?: number }).polluted).toBeUndefined();
      const inherited = await send(`{"installId":"${installId}","key":"b","__proto__":{"coins":10}}`);
      expect([inherited.status, inherited.body.error.field]).toEqual([400, 'coins']);
      expect(await balanceOf(installId)).toBe(after);
    });

    test('names of object properties are ordinary keys', async () => {
      const installId = await rich();
      for (const key of ['__proto__', 'constructor', 'toString', '0', '-1', 'nil']) {
        expect((await apply(installId, 1, key)).body.replayed).toBeUndefined();
        expect((await apply(installId, 1, key)).body.replayed).toBe(true);
      }
      expect(await balanceOf(installId)).toBe(operation === 'debit' ? 94 : 106);
    });
  });

  describe('caller', () => {
    test('the installId and its session share one account and its keys', async () => {
      const installId = await rich();
      const cookies = await signIn(running(), installId);
      await apply(undefined, 10, 'a', cookies);
      expect((await apply(installId, 10, 'a')).body).toEqual({ ok: true, balanceAfterCoins: after, replayed: true, balanceCoins: after });
    });

    test('two accounts may use the same key', async () => {
      const [first, second] = [await rich(), await rich()];
      expect((await apply(first, 10, 'shared')).body).toEqual({ ok: true, balanceAfterCoins: after });
      expect((await apply(second, 10, 'shared')).body).toEqual({ ok: true, balanceAfterCoins: after });
    });
  });

  describe('key', () => {
    test('a repeated key changes nothing and answers with the original and the current balance', async () => {
      const installId = await rich();
      await apply(installId, 10, 'a');
      await running().post('/v1/coins/credit', { installId, coins: 5, key: 'b' });
      const again = { ok: true, balanceAfterCoins: after, replayed: true, balanceCoins: after + 5 };
      expect((await apply(installId, 10, 'a')).body).toEqual(again);
      expect((await apply(installId, 10, 'a')).body).toEqual(again);
      expect(await balanceOf(installId)).toBe(after + 5);
    });

    test('a repeated key with another amount is refused with key_reused', async () => {
      const installId = await rich();
      await apply(installId, 10, 'a');
      for (const coins of [1, 9, 11, 100, 1_000_000]) {
        const { status, body } = await apply(installId, coins, 'a');
        expect([status, body.error.code, body.error.field]).toEqual([422, 'key_reused', 'key']);
      }
      expect(await balanceOf(installId)).toBe(after);
    });

    test.each((['credit', 'purchase', 'debit'] as const).filter((other) => other !== operation))(
      'a key used by a %s is refused with key_reused',
      async (other) => {
        const installId = await rich();
        expect((await running().post(`/v1/coins/${other}`, { installId, coins: 10, key: 'a' })).status).toBe(200);
        const before = await balanceOf(installId);
        const { status, body } = await apply(installId, 10, 'a');
        expect([status, body.error.code]).toEqual([422, 'key_reused']);
        expect(await balanceOf(installId)).toBe(before);
      },
    );

    test('keys that differ in case or blanks are different keys', async () => {
      const installId = await rich();
      for (const key of ['a', 'A', ' a', 'a ', 'a  a', 'a a', ' ', '  '])
        expect((await apply(installId, 1, key)).body.replayed).toBeUndefined();
      expect(await balanceOf(installId)).toBe(operation === 'debit' ? 92 : 108);
    });

    test('200 concurrent requests with one key take effect once', async () => {
      const installId = await rich();
      const replies = await Promise.all(Array.from({ length: 200 }, () => apply(installId, 10, 'a')));
      expect(replies.every(({ status, body }) => status === 200 && body.balanceAfterCoins === after)).toBe(true);
      expect(replies.filter(({ body }) => body.replayed === undefined)).toHaveLength(1);
      expect(await balanceOf(installId)).toBe(after);
    });

    test('of 100 concurrent requests with one key and two amounts one amount takes effect once', async () => {
      const installId = await rich();
      const replies = await Promise.all(Array.from({ length: 100 }, (_, index) => apply(installId, 10 + (index % 2), 'a')));
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(50);
      expect(replies.filter(({ status, body }) => status === 422 && body.error.code === 'key_reused')).toHaveLength(50);
      expect(replies.filter(({ status, body }) => status === 200 && body.replayed === undefined)).toHaveLength(1);
    });
  });
}

/** JSON text from raw values, for numbers that JSON.stringify does not write. An empty raw value omits the field. */
function jsonOf(fields: Record<string, string>): string {
  const written = Object.entries(fields).filter(([, raw]) => raw !== '');
  return `{${written.map(([name, raw]) => `"${name}":${raw}`).join(',')}}`;
}

const badCoins: [name: string, raw: string][] = [
  ['missing', ''],
  ['null', 'null'],
  ['true', 'true'],
  ['text', '"10"'],
  ['empty text', '""'],
  ['a list', '[10]'],
  ['an object', '{"coins":10}'],
  ['0', '0'],
  ['minus 0', '-0'],
  ['negative', '-1'],
  ['a fraction', '1.5'],
  ['a fraction next to 1', '0.99999999999999994'],
  ['more than a double holds', '1e400'],
  ['less than a double holds', '1e-400'],
  ['2^53', '9007199254740992'],
  ['2^63', '9223372036854775808'],
  ['one above the bound', '1000001'],
  ['a fraction above the bound', '1000000.5'],
];

const badKeys: [name: string, raw: string][] = [
  ['missing', ''],
  ['null', 'null'],
  ['a number', '1'],
  ['a list', '["a"]'],
  ['an object', '{}'],
  ['empty', '""'],
  ['256 characters', `"${'k'.repeat(256)}"`],
  ['beyond ASCII', '"schlüssel"'],
  ['an emoji', '"\\ud83e\\ude99"'],
  ['a lone surrogate', '"\\ud800"'],
  ['a line feed', '"a\\nb"'],
  ['a line feed at the end', '"a\\n"'],
  ['a tab', '"a\\tb"'],
  ['NUL', '"a\\u0000b"'],
  ['DEL', '"a\\u007f"'],
];

const badInstallIds: [name: string, raw: string][] = [
  ['null', 'null'],
  ['a number', '12345678'],
  ['a list', '["install-0001"]'],
  ['an object', '{}'],
  ['empty', '""'],
  ['7 characters', '"install"'],
  ['129 characters', `"${'i'.repeat(129)}"`],
  ['with a blank', '"install 0001"'],
  ['with a blank at the end', '"install-0001 "'],
  ['with a line feed at the end', '"install-0001\\n"'],
  ['beyond ASCII', '"installé-0001"'],
];

const badFields = Object.entries({ coins: badCoins, key: badKeys, installId: badInstallIds }).flatMap(([field, values]) =>
  values.map(([name, raw]) => ({ field, name, raw })),
);

/** Accepted values, and the balance after the operation on a balance of 1,000,100. */
const goodFields = [
  { field: 'coins', name: '1', raw: '1', balance: { credit: 1_000_101, debit: 1_000_099 } },
  { field: 'coins', name: '1,000,000', raw: '1000000', balance: { credit: 2_000_100, debit: 100 } },
  { field: 'coins', name: 'a whole number written with an exponent', raw: '1e3', balance: { credit: 1_001_100, debit: 999_100 } },
  { field: 'coins', name: 'a whole number written with a fraction', raw: '7.0', balance: { credit: 1_000_107, debit: 1_000_093 } },
  { field: 'key', name: '1 character', raw: '"k"', balance: { credit: 1_000_110, debit: 1_000_090 } },
  { field: 'key', name: '255 characters', raw: `"${'k'.repeat(255)}"`, balance: { credit: 1_000_110, debit: 1_000_090 } },
  {
    field: 'key',
    name: 'every printable character',
    raw: JSON.stringify(String.fromCharCode(...Array.from({ length: 95 }, (_, index) => 32 + index))),
    balance: { credit: 1_000_110, debit: 1_000_090 },
  },
];
