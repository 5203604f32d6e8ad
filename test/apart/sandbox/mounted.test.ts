import { expect, describe, test } from 'vitest';
import { request, start, type TestService } from '../../harness.ts';
import { decodePath, google, JWT_BEARER, purchasesPath, subscriptionPath } from './google.ts';

const SESSION_KEYS = `a:${'A'.repeat(43)}`;
const PUBLIC_URL = 'https://play.example';

const FORM = 'application/x-www-form-urlencoded';
const ALL_REFUNDS = '{"startDate":1,"endDate":2,"notificationType":"REFUND"}';

/** A request to each endpoint without credentials, the status of its answer, and the body of a POST (default: `{}`). */
const calls: [method: 'GET' | 'POST', path: string, contentType: string, status: number, body?: string][] = [
  ['POST', '/sandbox/issue', 'application/json', 400],
  ['GET', '/sandbox/jwks.json', '', 200],
  ['POST', '/sandbox/token', FORM, 400],
  ['GET', subscriptionPath('x'), '', 401],
  ['POST', `${purchasesPath()}/subscriptions/premium/tokens/x:acknowledge`, 'application/json', 401],
  ['POST', decodePath, 'application/json', 401],
  ['GET', `${purchasesPath()}/productsv2/tokens/x`, '', 401],
  ['POST', `${purchasesPath()}/products/coins_500/tokens/x:consume`, 'application/json', 401],
  ['GET', `${purchasesPath()}/voidedpurchases`, '', 401],
  ['GET', '/sandbox/app-store/production/inApps/v1/transactions/2000000123456789', '', 401],
  ['GET', '/sandbox/app-store/sandbox/inApps/v1/subscriptions/2000000123456789', '', 401],
  ['POST', '/sandbox/app-store/production/inApps/v1/transactions/2000000123456789/finish', 'application/json', 401],
  ['POST', '/sandbox/app-store/production/inApps/v1/notifications/history', 'application/json', 401, ALL_REFUNDS],
  ['POST', '/sandbox/apple-id/auth/token', FORM, 400],
  ['POST', '/sandbox/apple-id/auth/revoke', FORM, 400],
];

const ask = (service: TestService, [method, path, contentType, , body = '{}']: (typeof calls)[number]) =>
  google(service, path, { method, ...(method === 'POST' ? { headers: { 'content-type': contentType }, body } : {}) });

/** The places in which a service lists sandbox endpoints. */
async function described(service: TestService): Promise<string[]> {
  const isSandbox = (path: string): boolean => path.startsWith('/sandbox');
  const { endpoints } = (await service.get('/?format=json')).body;
  const found = {
    document: Object.keys((await service.get('/openapi.json')).body.paths).some(isSandbox),
    list: endpoints.some(({ path }: { path: string }) => isSandbox(path)),
    reference: (await service.get('/docs/reference/sandbox')).status === 200,
  };
  return Object.entries(found).flatMap(([place, isThere]) => (isThere ? [place] : []));
}

describe('the sandbox', () => {
  test.each([
    ['STORE=off', { STORE: 'off' }],
    ['STORE=google', { STORE: 'google' }],
    ['production and no STORE', { NODE_ENV: 'production', SESSION_KEYS, PUBLIC_URL }],
  ])('does not exist with %s', async (_, settings) => {
    await using service = await start({ settings });
    for (const call of calls) {
      const { status, body } = await ask(service, call);
      expect([call[1], status, body.error.code]).toEqual([call[1], 404, 'not_found']);
    }
    expect((await google(service, '/sandbox')).status).toBe(404);
    expect(await described(service)).toEqual([]);
  });

  test.each([
    ['in development', {}],
    ['in production with STORE=sandbox', { NODE_ENV: 'production', SESSION_KEYS, PUBLIC_URL, STORE: 'sandbox' }],
  ])('answers and is documented for people %s, and not in the OpenAPI document', async (_, settings) => {
    await using service = await start({ settings });
    for (const call of calls) {
      expect((await ask(service, call)).status, call[1]).toBe(call[3]);
    }
    expect(await described(service)).toEqual(['list', 'reference']);
  });

  test('only /sandbox/issue is rate-limited: the service itself calls the other endpoints', async () => {
    const limits = { RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '3', RATE_LIMIT_CREATIONS_PER_MINUTE: '2', MAX_IN_FLIGHT: '1' };
    await using service = await start({ settings: { RATE_LIMIT: 'on', ...limits } });
    for (const call of calls.slice(1)) {
      const replies = await Promise.all(Array.from({ length: 5 }, () => ask(service, call)));
      for (const { status } of replies) expect(status, call[1]).toBe(call[3]);
    }
    const statuses = [];
    for (let count = 0; count < 3; count++) statuses.push((await service.post('/sandbox/issue', { kind: 'id_token' })).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  test('answers store_unavailable while Redis is away', async () => {
    await using service = await start({ redis: { socketPath: '/nonexistent/redis.sock' } });
    const form = new URLSearchParams({ grant_type: JWT_BEARER, assertion: 'a.b.c' }).toString();
    for (const [method, path, contentType, , body = '{}'] of calls.slice(1)) {
      const headers: Record<string, string> = contentType === '' ? {} : { 'content-type': contentType };
      const text = path === '/sandbox/token' ? form : body;
      const { status, body: answer } = await request(service.url, path, { method, headers }, method === 'POST' ? text : undefined);
      expect([path, status, answer.error?.code]).toEqual([path, 503, 'store_unavailable']);
    }
  });
});
