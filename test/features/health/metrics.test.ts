import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { api } from '../../../src/api.ts';
import { actionNames } from '../../../src/features/rooms/actions.ts';
import { errors } from '../../../src/errors.ts';
import { entryLetters } from '../../../src/features/coins/model.ts';
import { USER_EVENTS } from '../../../src/stores/openid/user-event.ts';
import { freshId, isOnCluster, request, signIn, start, type TestService } from '../../harness.ts';
import { issue } from '../../store.ts';

let service: TestService;
let logLines: string[];
beforeEach(async () => {
  logLines = [];
  service = await start({ logLines });
});
afterEach(() => service[Symbol.asyncDispose]());

/** Every sample of /metrics, keyed by its name and labels as written. */
async function samples(): Promise<Map<string, number>> {
  // The service caches the text for one second.
  service.advance(1000);
  const { status, body } = await service.get('/metrics');
  expect(status).toBe(200);
  const found = new Map<string, number>();
  for (const line of (body as string).split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    expect(line).toMatch(/^[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [\d.e+-]+$/);
    const blank = line.lastIndexOf(' ');
    found.set(line.slice(0, blank), Number(line.slice(blank + 1)));
  }
  return found;
}

const requests = (method: string, route: string, status: number): string =>
  `coinop_http_requests_total{method="${method}",route="${route}",status="${status}"}`;

describe('GET /metrics', () => {
  test('answers in the Prometheus text format, with process and event loop metrics', async () => {
    const { headers, body } = await service.get('/metrics');
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(body).toMatch(/^# HELP /m);
    const found = await samples();
    expect(found.get('process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
    expect(found.get('process_cpu_seconds_total')).toBeGreaterThan(0);
    expect(found.has('coinop_event_loop_lag_seconds')).toBe(true);
    // The request for /metrics itself does not count.
    expect(found.get('coinop_http_requests_in_flight')).toBe(0);
  });

  test('counts requests by route template and status, and measures their duration', async () => {
    const installId = freshId();
    for (const coins of [10, 20, 0]) await service.post('/v1/coins/credit', { installId, coins, key: String(coins) });
    await service.post('/v1/coins/credit', { installId, coins: 11, key: '10' });
    await service.get(`/v1/balance?installId=${installId}`);
    await service.get('/v1/balance');
    await service.get('/nothing/here');
    await service.post('/login', { installId });
    await service.post('/v1/login', { installId });
    const found = await samples();
    expect(
      [
        requests('POST', '/v1/coins/credit', 200),
        requests('POST', '/v1/coins/credit', 400),
        requests('POST', '/v1/coins/credit', 422),
        requests('GET', '/v1/balance', 200),
        requests('GET', '/v1/balance', 401),
        requests('any', 'unmatched', 404),
        // An alias counts under the route of its endpoint.
        requests('POST', '/v1/login', 200),
        'coinop_http_request_duration_seconds_count{method="POST",route="/v1/coins/credit"}',
        // Three of the four credits: the one with a bad body did not reach Redis.
        'coinop_redis_script_duration_seconds_count{script="coins/apply"}',
      ].map((name) => found.get(name)),
    ).toEqual([2, 1, 1, 1, 1, 1, 2, 4, 3]);
    expect(found.get('coinop_http_request_duration_seconds_sum{method="POST",route="/v1/coins/credit"}')).toBeGreaterThan(0);
  });

  test('the text is made at most once a second', async () => {
    await samples();
    await service.post('/login', { installId: freshId() });
    expect((await service.get('/metrics')).body).not.toContain(requests('POST', '/v1/login', 200));
    expect((await samples()).get(requests('POST', '/v1/login', 200))).toBe(1);
  });

  test('counts coins and operations by type of the entry, replays and refusals not among them', async () => {
    const installId = freshId();
    for (const [operation, coins, key] of [
      ['credit', 10, 'c'],
      ['credit', 1_000_000, 'c2'],
      ['credit', 10, 'c'],
      ['purchase', 30, 'p'],
      ['purchase', 31, 'p'],
      ['debit', 7, 'd'],
      ['debit', 7, 'd'],
      ['debit', 1_000_000, 'd2'],
      ['debit', 1_000_000, 'd3'],
    ] as const)
      await service.post(`/v1/coins/${operation}`, { installId, coins, key });
    const found = await samples();
    const names = ['coinop_coin_operations_total', 'coinop_coins_in_total', 'coinop_coins_out_total'];
    const types = Object.keys(entryLetters);
    const totals = Object.fromEntries(types.map((type) => [type, names.map((name) => found.get(`${name}{type="${type}"}`))]));
    const none = Object.fromEntries(types.map((type) => [type, [0, 0, 0]]));
    expect(totals).toEqual({ ...none, credit: [2, 1_000_010, 0], purchase: [1, 30, 0], debit: [2, 0, 1_000_007] });
    expect(found.get('coinop_coins_replayed_total')).toBe(2);
  });

  test('counts refusals by error code, from 0', async () => {
    const counts = async (): Promise<Record<string, number>> => {
      const found = await samples();
      return Object.fromEntries(Object.keys(errors).map((code) => [code, found.get(`coinop_refusals_total{code="${code}"}`)!]));
    };
    const none = Object.fromEntries(Object.keys(errors).map((code) => [code, 0]));
    expect(await counts()).toEqual(none);
    const installId = freshId();
    for (let index = 0; index < 3; index++) await service.post('/v1/coins/debit', { installId, coins: 5, key: 'a' });
    await service.post('/v1/coins/credit', { installId, coins: 0, key: 'a' });
    await service.get('/v1/rooms/BBBBB/live');
    await service.get('/nothing/here');
    expect(await counts()).toEqual({ ...none, insufficient_coins: 3, invalid_request: 2, not_found: 1 });
  });

  test('counts an account once, whichever request creates it, and a first score on a new board as no account', async () => {
    const created = async (): Promise<number[]> => {
      const found = await samples();
      return ['install', 'store'].map((by) => found.get(`coinop_accounts_created_total{by="${by}"}`)!);
    };
    const [first, second, third, fourth] = [freshId(), freshId(), freshId(), freshId()];
    const credit = (_: unknown, index: number) => service.post('/v1/coins/credit', { installId: first, coins: 1, key: `${index}` });
    const board = `/v1/highscores/${freshId('game').toLowerCase()}`;
    await service.get(`/v1/balance?installId=${first}`);
    await service.post('/v1/coins/debit', { installId: second, coins: 1, key: 'refused' });
    expect(await created()).toEqual([0, 0]);
    await Promise.all(Array.from({ length: 10 }, credit));
    for (const [path, body] of [
      ['/v1/account/resolve', { installId: second }],
      ['/v1/account/resolve', { installId: second }],
      ['/v1/login', { installId: first }],
      ['/v1/rooms', { installId: third }],
      [board, { installId: third, score: 1, name: 'Ada' }],
      [board, { installId: fourth, score: 1, name: 'Ada' }],
    ] as const)
      expect((await service.post(path, body)).status).toBe(200);
    expect(await created()).toEqual([4, 0]);

    const { token } = await issue(service, { kind: 'id_token', subject: freshId('user') });
    for (const isNew of [true, false]) {
      const { body } = await service.post('/v1/account/store-provision', { token, installId: first });
      expect(body).toMatchObject({ created: isNew, moved: isNew });
    }
    expect(await created()).toEqual([4, 1]);
    const found = await samples();
    expect(['coin_operations', 'coins_in'].map((name) => found.get(`coinop_${name}_total{type="merge"}`))).toEqual([1, 10]);
  });

  // On a Cluster any process may do the last check, a minute later. That process counts the account.
  test.skipIf(isOnCluster())('counts an account that was deleted once it is erased, and the guests that had moved into it', async () => {
    const deleted = async (): Promise<number> => (await samples()).get('coinop_accounts_deleted_total')!;
    // Tests of other files delete accounts in the same Redis.
    expect([await deleted(), (await samples()).get('coinop_account_deletions_waiting')]).toEqual([0, expect.any(Number)]);
    const [installId, guest] = [freshId(), freshId()];
    await service.post('/v1/coins/credit', { installId: guest, coins: 1, key: 'a' });
    const { token } = await issue(service, { kind: 'id_token', subject: freshId('user') });
    await service.post('/v1/account/store-provision', { token, installId: guest });
    for (const proof of [{ installId }, { token }]) {
      const { confirm } = (await service.post('/v1/account/delete', proof)).body;
      await Promise.all(Array.from({ length: 20 }, () => service.post('/v1/account/delete', { ...proof, confirm })));
    }
    // The service caches the text of the metrics for a second.
    await expect.poll(deleted).toBe(3);
  });

  test('shows the versions, the start and whether Redis can be reached', async () => {
    const found = await samples();
    const info = [...found].filter(([name]) => name.startsWith('coinop_build_info'));
    expect(info).toEqual([[expect.stringMatching(/version="\d+\.\d+\.\d+",revision="(src-)?[\da-f]{12}",.*uws="20\.\d+\.\d+"/), 1]]);
    expect(found.get('process_start_time_seconds')).toBeCloseTo(performance.timeOrigin / 1000, 1);
    expect(found.get('coinop_redis_up')).toBe(1);
  });

  test('no label holds text from a request', async () => {
    await service.get('/v1/balance?installId=label"} 1\\n');
    await request(service.url, '/v1/balance', { method: 'DELETE' });
    await request(service.url, '/%22%7Broute', { method: 'PUT' });
    await service.post('/v1/rooms/BBBBB/dance%22', { installId: freshId() });
    const oneOf = (values: readonly string[]) => new RegExp(`^(${values.join('|').replace(/[{}.]/g, '\\$&')})$`);
    const patterns: Record<string, RegExp> = {
      route: oneOf([...api.map(({ path }) => path), 'unmatched']),
      method: /^(GET|POST|any)$/,
      status: /^(0|[2-5]\d\d)$/,
      code: oneOf(Object.keys(errors)),
      // Of ledger entries and of Apple's notifications about users and about purchases.
      type: oneOf([...Object.keys(entryLetters), ...USER_EVENTS, 'unknown', '[A-Z_]+']),
      store: /^(google|apple)$/,
      by: /^(install|store)$/,
      action: oneOf(actionNames),
      via: /^(http|channel)$/,
      call: /^(look|finish|list)$/,
      // Acts in rooms, matches and purchases.
      outcome: /^(done|replayed|refused|failed|created|joined|seated|retried|granted|refunded|reversed|over_cap)$/,
      // A primary of the service's Cluster.
      node: /^127\.0\.0\.1:\d+$/,
      script: /^[a-z]+\/[a-z-]+$/,
      le: /^(\d+(\.\d+)?|\+Inf)$/,
    };
    const found = await samples();
    expect([found.get(requests('GET', '/v1/balance', 400)), found.get(requests('any', 'unmatched', 404))]).toEqual([1, 1]);
    for (const sample of found.keys()) {
      // These hold settings and versions of the service.
      if (/^coinop_(build|setting)_info/.test(sample)) continue;
      for (const [, name = '', value = ''] of sample.matchAll(/([a-z]+)="([^"]*)"/g))
        expect([name, value]).toEqual([name, expect.stringMatching(patterns[name]!)]);
    }
  });

  test('neither metrics nor log hold an installId, a cookie, a coin key or a query; only failures log their account id', async () => {
    const installId = freshId('secret');
    const { body } = await service.post('/v1/login', { installId });
    const cookies = await signIn(service, installId);
    const coinKey = freshId('coin-key');
    await service.post('/v1/coins/credit', { coins: 5, key: coinKey }, { cookies });
    await service.post('/v1/coins/credit', { installId, coins: 5, key: coinKey });
    await service.post('/v1/coins/debit', { installId, coins: 50, key: freshId('coin-key') });
    await service.post('/v1/coins/credit', { installId, coins: 'secret-coins', key: coinKey });
    await service.get(`/v1/balance?installId=${installId}&note=secret-query`);
    await service.get(`/nothing/${installId}?note=secret-query`);
    await request(service.url, `/v1/balance?installId=${installId}`, { method: 'DELETE', cookies });
    await service.get('/v1/coins/history', { cookies });
    await service.post('/v1/logout', {}, { cookies });
    // An unexpected failure is logged. Here the ledger is not a list.
    const broken = freshId('secret');
    const { accountId } = (await service.post('/v1/account/resolve', { installId: broken })).body;
    await service.service.redis.set(`{${accountId}}:ledger`, 'not a list');
    const failed = await service.post('/v1/coins/credit', { installId: broken, coins: 1, key: coinKey });
    expect([failed.status, failed.body.error.code]).toEqual([500, 'internal']);
    expect(JSON.stringify(failed.body)).not.toContain('WRONGTYPE');

    const text = (await service.get('/metrics')).body as string;
    expect(text).toContain('/v1/coins/credit');
    expect(logLines.some((line) => line.includes('request failed'))).toBe(true);
    const failures = logLines.map((line) => JSON.parse(line)).filter((line) => line.accountId !== undefined);
    expect(failures).toMatchObject([{ msg: 'request failed', route: '/v1/coins/credit', status: 500, code: 'internal', accountId }]);
    const log = logLines.join('\n').replaceAll(`"accountId":"${accountId}"`, '');
    for (const secret of ['secret', installId, broken, body.accountId, accountId, 'coin-key', cookies.split('.')[2]!]) {
      expect(text).not.toContain(secret);
      expect(log).not.toContain(secret);
    }
  });
});
