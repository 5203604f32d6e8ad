import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Refusal } from '../../../src/errors.ts';
import type { Exchange } from '../../../src/server/http/exchange.ts';
import { TargetValidation } from '../../../src/server/http/request-data.ts';
import { forFile, freshId, request, start, type TestService, tokenFor } from '../../harness.ts';

const service = await forFile(start());

describe('path parameters', () => {
  test('are percent-decoded', async () => {
    expect((await service.get('/v1/highscores/%74etris')).body.game).toBe('tetris');
  });

  test('that are not valid percent-encoding are refused', async () => {
    const { status, body } = await service.get('/v1/highscores/%E2%80');
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'path']);
  });
});

describe('validation that remembers', () => {
  const shape = { params: z.object({ game: z.string().regex(/^[a-z]+$/) }), query: z.object({ installId: z.string().min(8).optional() }) };
  const asked = (query: string, installId = ''): Exchange => ({ query, headers: { installId } }) as unknown as Exchange;

  test('gives the same parameters again, and refuses what it refused', () => {
    const target = new TargetValidation(shape);
    expect(target.params(['tetris'])).toEqual({ game: 'tetris' });
    expect(target.params(['tetris'])).toBe(target.params(['tetris']));
    expect(target.params(['%74etris'])).toEqual({ game: 'tetris' });
    for (let turn = 0; turn < 2; turn++) expect(() => target.params(['TETRIS'])).toThrow(Refusal);
    const long = 'a'.repeat(65);
    expect(target.params([long])).toEqual({ game: long });
    expect(target.params([long])).not.toBe(target.params([long]));
  });

  test('treats a query as empty only if neither query nor header names an install', () => {
    const target = new TargetValidation(shape);
    expect(target.query(asked(''), false)).toEqual({});
    expect(target.query(asked('', 'install-1'), false)).toEqual({ installId: 'install-1' });
    expect(target.query(asked('installId=install-2'), false)).toEqual({ installId: 'install-2' });
    expect(target.query(asked('', 'short'), true)).toEqual({});
    expect(() => target.query(asked('', 'short'), false)).toThrow(Refusal);
    expect(() => target.query(asked('installId=install-2', 'install-1'), false)).toThrow(Refusal);
    expect(target.query(asked('installId=install-2', 'install-1'), true)).toEqual({});
  });

  test('refuses an empty query that lacks a required field', () => {
    const target = new TargetValidation({ query: z.object({ token: z.string() }) });
    expect(() => target.query(asked(''), false)).toThrow(Refusal);
    expect(new TargetValidation({}).query(asked(''), false)).toBeUndefined();
    expect(new TargetValidation({}).params(['tetris'])).toBeUndefined();
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

  test('names the caller of a GET if the query does not', async () => {
    expect(await balance('', await credited(3))).toBe(3);
    expect(await balance('?installId=', await credited(4))).toBe(4);
  });

  test('may repeat the installId of the query', async () => {
    const installId = await credited(5);
    expect(await balance(`?installId=${installId}`, installId)).toBe(5);
  });

  test.each([
    ['differs first', (named: string, other: string) => `?installId=${other}&installId=${named}`],
    ['differs first, and is empty last', (_: string, other: string) => `?installId=${other}&installId=`],
    ['differs last', (named: string, other: string) => `?installId=${named}&installId=${other}`],
  ])('beside a query that names it twice and %s is refused', async (_, query) => {
    const [named, other] = [await credited(1), await credited(2)];
    for (const method of ['GET', 'HEAD']) {
      const reply = await fetch(`${service.url}/v1/balance${query(named, other)}`, { method, headers: { 'x-install-id': named } });
      expect(reply.status).toBe(400);
    }
  });

  test('is not needed to refuse a query with two installIds; the same installId twice counts as one', async () => {
    const [one, other] = [await credited(1), await credited(2)];
    const { status, body } = await service.get(`/v1/balance?installId=${one}&installId=${other}`);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'installId']);
    expect((await service.get(`/v1/balance?installId=${one}&installId=${one}&installId=`)).body.balanceCoins).toBe(1);
    // A session has priority, so the query does not count.
    const bearer = await tokenFor(service, other);
    expect((await service.get(`/v1/balance?installId=${one}&installId=x`, { bearer })).body.balanceCoins).toBe(2);
  });

  test.each([
    ['no object', '[]', 'body'],
    ['null', 'null', 'body'],
    ['a body with installId null', '{"installId":null}', 'installId'],
    ['a body with an empty installId', '{"installId":""}', 'installId'],
    ['a body with a list of the same installId', '{"installId":["install-0001"]}', 'installId'],
    ['a body with the installId in another case', '{"installId":"INSTALL-0001"}', 'installId'],
    ['a body that names it twice, differing last', '{"installId":"install-0001","installId":"install-0002"}', 'installId'],
  ])('beside %s is refused', async (_, text, field) => {
    const options = { method: 'POST', headers: { 'x-install-id': 'install-0001' } };
    const { status, body } = await request(service.url, '/v1/account/resolve', options, text);
    expect([status, body.error.code, body.error.field, body.error.issues.map(({ path }: { path: string }) => path)]).toEqual([
      400,
      'invalid_request',
      field,
      [field],
    ]);
  });

  test('names the caller beside an empty body if the endpoint takes one', async () => {
    const { room } = (await service.post('/v1/rooms', { installId: freshId() })).body;
    const options = { method: 'POST', headers: { 'x-install-id': freshId() } };
    expect((await request(service.url, `/v1/rooms/${room.code}/join`, options)).body.you).toEqual({ playerId: 'p2', host: false });
  });
});

describe('cookies in development', () => {
  const login = async (on: TestService, headers: Record<string, string> = {}) =>
    (await on.post('/v1/login', { installId: freshId() }, { headers })).setCookies[0]!;

  test('are Secure if a trusted proxy says https', async () => {
    await using proxied = await start({ settings: { TRUSTED_PROXIES: '127.0.0.1' } });
    expect(await login(proxied)).not.toContain('Secure');
    for (const https of ['https', 'HTTPS', 'Https']) expect(await login(proxied, { 'x-forwarded-proto': https })).toMatch(/; Secure$/);
    expect(await login(proxied, { 'x-forwarded-proto': 'httpsx' })).not.toContain('Secure');
  });

  test('are not Secure if a client that is no trusted proxy says https', async () => {
    expect(await login(service, { 'x-forwarded-proto': 'https' })).not.toContain('Secure');
  });

  test('are Secure if PUBLIC_URL says https', async () => {
    await using published = await start({ settings: { PUBLIC_URL: 'https://play.example' } });
    expect(await login(published)).toMatch(/; Secure$/);
  });
});
