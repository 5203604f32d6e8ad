import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshId, start, type TestService } from '../../harness.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

describe('path parameters', () => {
  test('are percent-decoded', async () => {
    expect((await service.get('/v1/highscores/%74etris')).body.game).toBe('tetris');
  });

  test('that are not valid percent-encoding are refused', async () => {
    const { status, body } = await service.get('/v1/highscores/%E2%80');
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'path']);
  });
});

describe('x-install-id', () => {
  const credited = async (coins: number): Promise<string> => {
    const installId = freshId();
    expect((await service.post('/v1/coins/credit', { installId, coins, key: 'a' })).status).toBe(200);
    return installId;
  };
  const balance = async (query: string, installId: string) =>
    (await service.get(`/v1/balance${query}`, { headers: { 'x-install-id': installId } })).body.balanceCoins;

  test('names the caller of a GET where the query does not', async () => {
    expect(await balance('', await credited(3))).toBe(3);
    expect(await balance('?installId=', await credited(4))).toBe(4);
  });

  test('gives way to the installId of the query', async () => {
    expect(await balance(`?installId=${await credited(1)}`, await credited(2))).toBe(1);
  });
});

describe('cookies in development', () => {
  const login = async (on: TestService, headers: Record<string, string> = {}) =>
    (await on.post('/v1/login', { installId: freshId() }, { headers })).setCookies[0]!;

  test('are Secure where a trusted proxy says https', async () => {
    await using proxied = await start({ settings: { TRUSTED_PROXIES: '127.0.0.1' } });
    expect(await login(proxied)).not.toContain('Secure');
    expect(await login(proxied, { 'x-forwarded-proto': 'https' })).toMatch(/; Secure$/);
  });

  test('are not Secure where a client that is no trusted proxy says https', async () => {
    expect(await login(service, { 'x-forwarded-proto': 'https' })).not.toContain('Secure');
  });

  test('are Secure where PUBLIC_URL says https', async () => {
    await using published = await start({ settings: { PUBLIC_URL: 'https://play.example' } });
    expect(await login(published)).toMatch(/; Secure$/);
  });
});
