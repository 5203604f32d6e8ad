import { describe, expect, test } from 'vitest';
import { freshId, request, type TestReply, type TestService } from '../../harness.ts';

/**
 * Tests of the common rules of credit, purchase and debit: all with credit, and for the others those that show that they follow them. Random
 * operations are compared with a model in ledger.test.ts.
 * @param after the balance after an operation with 10 coins on a balance of 100
 */
export function testOperationRules(operation: 'credit' | 'purchase' | 'debit', after: number, service: TestService): void {
  const path = `/v1/coins/${operation}`;
  const send = (text: string): Promise<TestReply> => request(service.url, path, { method: 'POST' }, text);
  const apply = (installId: string, coins: number, key: string, type: string = operation): Promise<TestReply> =>
    service.post(`/v1/coins/${type}`, { installId, coins, key });
  const balanceOf = async (installId: string): Promise<number> =>
    (await service.get('/v1/balance', { headers: { 'x-install-id': installId } })).body.balanceCoins;

  /** A new install with 100 coins. The key `opening` is used. */
  async function rich(): Promise<string> {
    const installId = freshId();
    expect((await apply(installId, 100, 'opening', 'purchase')).body).toEqual({ ok: true, balanceAfterCoins: 100 });
    return installId;
  }

  const isFirst = operation === 'credit';

  test.each(isFirst ? badFields : badFields.slice(0, 4))('%s is refused when it is: %s', async (field, _, raw) => {
    const installId = await rich();
    const { status, body } = await send(jsonOf({ installId: `"${installId}"`, coins: '10', key: '"key"', [field]: raw }));
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', field]);
    expect(body.error.issues).toEqual([{ path: field, message: expect.any(String) }]);
    expect(body.error.message).toContain(field);
    expect(await balanceOf(installId)).toBe(100);
    // The refused request did not use up the key.
    expect((await apply(installId, 10, 'key')).body).toEqual({ ok: true, balanceAfterCoins: after });
  });

  test.each([
    ['coins', '1', 1],
    ['coins', '1000000', 1_000_000],
    ['coins', '1e3', 1000],
    ['coins', '7.0', 7],
    ['key', `"${'k'.repeat(255)}"`, 10],
    ['key', JSON.stringify(String.fromCharCode(...Array.from({ length: 95 }, (_, index) => 32 + index))), 10],
  ] as const)('%s may be %s', async (field, raw, coins) => {
    const installId = await rich();
    await apply(installId, 1_000_000, 'more', 'credit');
    const { body } = await send(jsonOf({ installId: `"${installId}"`, coins: '10', key: '"key"', [field]: raw }));
    expect(body).toEqual({ ok: true, balanceAfterCoins: 1_000_100 + (operation === 'debit' ? -coins : coins) });
  });

  describe.runIf(isFirst)('a field that the operation does not have', () => {
    test('is ignored', async () => {
      const { body } = await service.post(path, {
        installId: await rich(),
        coins: 10,
        key: 'a',
        balanceCoins: 5_000,
        type: 'merge',
        at: 0,
      });
      expect(body).toEqual({ ok: true, balanceAfterCoins: after });
    });

    test('pollutes no object if its name is __proto__ or constructor', async () => {
      const installId = await rich();
      const { body } = await send(
        `{"__proto__":{"coins":1000000,"polluted":1},"constructor":{"prototype":{"polluted":1}},"installId":"${installId}","coins":10,"key":"a"}`,
      );
      expect(body).toEqual({ ok: true, balanceAfterCoins: after });
      expect(({} as { polluted?: number }).polluted).toBeUndefined();
      const inherited = await send(`{"installId":"${installId}","key":"b","__proto__":{"coins":10}}`);
      expect([inherited.status, inherited.body.error.field]).toEqual([400, 'coins']);
    });
  });

  test('two accounts may use the same key', async () => {
    for (const installId of [await rich(), await rich()])
      expect((await apply(installId, 10, 'shared')).body).toEqual({ ok: true, balanceAfterCoins: after });
  });

  test('a repeated key changes nothing and answers with the original and the current balance', async () => {
    const installId = await rich();
    await apply(installId, 10, 'a');
    await apply(installId, 5, 'b', 'credit');
    const again = { ok: true, balanceAfterCoins: after, replayed: true, balanceCoins: after + 5 };
    for (let times = 0; times < 2; times++) expect((await apply(installId, 10, 'a')).body).toEqual(again);
    expect(await balanceOf(installId)).toBe(after + 5);
  });

  test('a repeated key with another amount or operation is refused with key_reused', async () => {
    const installId = await rich();
    await apply(installId, 10, 'a');
    for (const coins of [1, 11, 1_000_000]) {
      const { status, body } = await apply(installId, coins, 'a');
      expect([status, body.error.code, body.error.field]).toEqual([422, 'key_reused', 'key']);
    }
    for (const other of ['credit', 'purchase', 'debit'].filter((type) => type !== operation))
      expect((await apply(installId, 10, 'a', other)).body.error.code).toBe('key_reused');
    expect(await balanceOf(installId)).toBe(after);
  });

  test('of 40 concurrent requests with one key and two amounts one amount takes effect once', async () => {
    const installId = await rich();
    const replies = await Promise.all(Array.from({ length: 40 }, (_, index) => apply(installId, 10 + (index % 2), 'a')));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(20);
    expect(replies.filter(({ body }) => body.error?.code === 'key_reused')).toHaveLength(20);
    expect(replies.filter(({ status, body }) => status === 200 && body.replayed === undefined)).toHaveLength(1);
  });
}

/** JSON text from raw values, for numbers that JSON.stringify does not write. An empty raw value omits the field. */
function jsonOf(fields: Record<string, string>): string {
  const written = Object.entries(fields).filter(([, raw]) => raw !== '');
  return `{${written.map(([name, raw]) => `"${name}":${raw}`).join(',')}}`;
}

const badFields: [field: string, name: string, raw: string][] = [
  ['coins', 'missing', ''],
  ['coins', 'negative', '-1'],
  ['key', 'missing', ''],
  ['key', '256 characters', `"${'k'.repeat(256)}"`],
  ['coins', 'text', '"10"'],
  ['coins', 'minus 0', '-0'],
  ['coins', 'a fraction', '1.5'],
  ['coins', 'a fraction next to 1', '0.99999999999999994'],
  ['coins', 'more than a double holds', '1e400'],
  ['coins', 'less than a double holds', '1e-400'],
  ['coins', '2^63', '9223372036854775808'],
  ['coins', 'one above the bound', '1000001'],
  ['key', 'a number', '1'],
  ['key', 'empty', '""'],
  ['key', 'beyond ASCII', '"schlüssel"'],
  ['key', 'a lone surrogate', '"\\ud800"'],
  ['key', 'a line feed at the end', '"a\\n"'],
  ['key', 'NUL', '"a\\u0000b"'],
  ['key', 'DEL', '"a\\u007f"'],
];
