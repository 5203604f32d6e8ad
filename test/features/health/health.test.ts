import { expect, test } from 'vitest';
import { request, start } from '../../harness.ts';

test('GET /health answers 200 with the name of the service, for GET and HEAD, and refuses POST', async () => {
  await using service = await start();
  for (const path of ['/health', '/health?verbose=1']) expect((await service.get(path)).body).toEqual({ ok: true, service: 'coinop' });
  expect((await request(service.url, '/health', { method: 'HEAD' })).status).toBe(200);
  const { status, body, headers } = await service.post('/health', {});
  expect([status, body.error.code, headers.get('allow')]).toEqual([405, 'method_not_allowed', 'GET, HEAD, OPTIONS']);
});

test('GET /health answers 200 without Redis, while /ready answers 503', async () => {
  await using service = await start({ redis: { socketPath: '/nowhere/redis.sock' } });
  expect((await service.get('/health')).body).toEqual({ ok: true, service: 'coinop' });
  const { status, body, headers } = await service.get('/ready');
  expect([status, body.error]).toMatchObject([503, { code: 'store_unavailable', message: 'Not ready: redis is away.' }]);
  expect(headers.get('retry-after')).toBe('1');
});
