import { describe, expect, test } from 'vitest';
import { request, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { expectCommands } from '../../round-trips.ts';

describe('GET /health', () => {
  test('answers 200 with the name of the service, for GET and HEAD', async () => {
    await using service = await start();
    const { status, body, headers } = await service.get('/health');
    expect([status, body]).toEqual([200, { ok: true, service: 'coinop' }]);
    expect(headers.get('content-type')).toBe('application/json');
    expect((await service.get('/health?verbose=1')).body).toEqual({ ok: true, service: 'coinop' });
    expect((await request(service.url, '/health', { method: 'HEAD' })).status).toBe(200);
  });

  test('answers 200 without Redis, while /ready answers 503', async () => {
    await using service = await start({ redis: { socketPath: '/nowhere/redis.sock' } });
    expect((await service.get('/health')).body).toEqual({ ok: true, service: 'coinop' });
    const { status, body, headers } = await service.get('/ready');
    expect([status, body.error.code, body.error.message]).toEqual([503, 'store_unavailable', 'Not ready: redis is away.']);
    expect(headers.get('retry-after')).toBe('1');
  });

  test('sends Redis no command', async () => {
    await using redis = await startRedis();
    await using service = await start({ redis: redis.location });
    await expectCommands(
      service,
      Array.from({ length: 3 }, () => [() => service.get('/health'), []]),
    );
  });

  test('POST is refused with method_not_allowed', async () => {
    await using service = await start();
    const { status, body, headers } = await service.post('/health', {});
    expect([status, body.error.code, headers.get('allow')]).toEqual([405, 'method_not_allowed', 'GET, HEAD, OPTIONS']);
  });
});
