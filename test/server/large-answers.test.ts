import { describe, expect, test } from 'vitest';
import { forFile, freshId, start, type RequestOptions, type TestReply } from '../harness.ts';
import { makeServerKey } from '../server-keys.ts';

/** A request without gzip. `fetch` would accept gzip. */
const plain = { headers: { 'accept-encoding': 'identity' } };
const BUDGET_BYTES = 16 * 1024;
const PER_SECOND = 50;
const BURST = 200;
const SECONDS = 10;

const bytesOf = ({ body }: TestReply): number => Buffer.byteLength(typeof body === 'string' ? body : JSON.stringify(body));

const settings = { RATE_LIMIT: 'on', TRUSTED_PROXIES: '127.0.0.1', RATE_LIMIT_SERVER_KEY_PER_SECOND: '20' };
const service = await forFile(start({ settings, stoppedClock: true }));
// Made at the first request.
await service.get('/docs', plain);

describe('an answer of more than 16 KiB', () => {
  let address = 0;
  /** A client with a separate address. */
  const client = () => {
    const from = `203.0.113.${++address}`;
    return (path: string, options: RequestOptions = {}) =>
      service.get(path, { ...options, headers: { ...options.headers, 'x-forwarded-for': from } });
  };

  /** The remaining requests of the address. Large answers to other addresses do not change the number. */
  const left = async (get: ReturnType<typeof client>): Promise<number> => {
    for (let count = 0; ; count++) if ((await get('/v1/session')).status === 429) return count;
  };

  test.each(['/docs', '/openapi.json', '/?format=json', '/'])(
    '%s: an address draws no more bytes than its requests allow',
    async (path) => {
      const get = client();
      let bytes = 0;
      for (let seconds = 0; seconds <= SECONDS;) {
        const reply = await get(path, { headers: { ...plain.headers, accept: 'text/html' } });
        if (reply.status === 200) bytes += bytesOf(reply);
        else {
          expect(reply.status).toBe(429);
          service.advance(1000);
          seconds++;
        }
      }
      // The refused requests count, too.
      expect(bytes).toBeLessThanOrEqual((BURST + SECONDS * PER_SECOND) * BUDGET_BYTES);
      expect(bytes).toBeGreaterThan(0.6 * BURST * BUDGET_BYTES);
    },
  );

  test('a client gets the refused answer once the named wait is over, and no sooner', async () => {
    const get = client();
    for (;;) {
      const { status, body, headers } = await get('/docs', plain);
      if (status === 200) continue;
      expect([status, body.error.code]).toEqual([429, 'rate_limited']);
      const waitMs = body.error.retryAfterMs;
      // The service does not know the cost of a request before the address has one left.
      expect(Number(headers.get('retry-after'))).toBe(Math.ceil(waitMs / 1000));
      service.advance(waitMs);
      if (waitMs > 1000 / PER_SECOND) break;
    }
    expect((await get('/docs', plain)).status).toBe(200);
    expect((await get('/docs', plain)).status).toBe(429);
  });

  test('costs what its bytes cost if it is compressed, and HEAD, 304 and refusals cost one request', async () => {
    const get = client();
    const zipped = await get('/docs', { headers: { 'accept-encoding': 'gzip' } });
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    const { headers } = await get('/docs', { ...plain, method: 'HEAD' });
    await get('/docs', { headers: { ...plain.headers, 'if-none-match': headers.get('etag')! } });
    expect((await get('/v1/rooms/BBBBB')).status).toBe(404);
    expect(await left(get)).toBeGreaterThan(BURST - 6 - 3);
  });

  test('of a request with a server key counts for the key, and not for the address', async () => {
    const { token } = await makeServerKey(service, ['accounts:read']);
    const get = client();
    const installId = freshId();
    // 100 entries with long keys are an answer of 40 KiB.
    for (let index = 0; index < 100; index++) {
      const body = { installId, coins: 1, key: `${index}`.padEnd(255, 'x') };
      await service.post('/v1/coins/credit', body, { headers: { 'x-forwarded-for': `198.51.100.${index}` } });
    }
    const replies = [];
    for (let times = 0; times < 20; times++)
      replies.push(await get(`/v1/coins/history?limit=100&installId=${installId}`, { bearer: token }));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(13);
    expect(await left(get)).toBe(BURST);
  });
});

test('with a burst of one request a large answer is not refused for ever', async () => {
  const settings = { RATE_LIMIT: 'on', RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '1' };
  await using service = await start({ settings, stoppedClock: true });
  expect((await service.get('/openapi.json')).status).toBe(200);
  service.advance(1000);
  expect((await service.get('/openapi.json')).status).toBe(200);
});
