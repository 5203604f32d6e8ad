import { describe, expect, test } from 'vitest';
import { freshId, start, type TestReply } from '../harness.ts';

const HOUR_MS = 3_600_000;

const limits = {
  RATE_LIMIT: 'on',
  RATE_LIMIT_PER_SECOND: '1',
  RATE_LIMIT_BURST: '10',
  RATE_LIMIT_CREATIONS_PER_MINUTE: '2',
  RATE_LIMIT_MISSES_PER_MINUTE: '2',
  TRUSTED_PROXIES: '127.0.0.1',
};

const waitOf = ({ status, body }: TestReply): number => (status === 429 ? body.error.retryAfterMs : 0);

describe.each([
  ['back by an hour', -HOUR_MS],
  ['forwards by an hour', HOUR_MS],
  ['forwards by a day and an hour', 25 * HOUR_MS],
])('a clock that is set %s', (_, set) => {
  test('an address is refused if it has used up its requests, creations or misses, and not before', async () => {
    await using service = await start({ settings: limits, stoppedClock: true });
    const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
    const ask = (address: string) => service.get('/v1/session', from(address));
    const create = (address: string) => service.post('/v1/account/resolve', { installId: freshId() }, from(address));
    const guess = (address: string) => service.get('/v1/rooms/BBBBB', from(address));
    const times = async (count: number, call: () => Promise<TestReply>) => {
      const waits = [];
      for (let index = 0; index < count; index++) waits.push(waitOf(await call()));
      return waits;
    };
    const others = [[create, '203.0.113.2'] as const, [guess, '203.0.113.3'] as const];
    // One address has used up its requests, one its creations, one its misses, and one half of each.
    expect(await times(11, () => ask('203.0.113.1'))).toEqual([...Array(10).fill(0), 1000]);
    for (const [call, address] of others) {
      expect(await times(3, () => call(address))).toEqual([0, 0, 30_000]);
      expect(await times(1, () => call('203.0.113.4'))).toEqual([0]);
    }
    service.setClock(set);
    expect(await times(2, () => ask('203.0.113.1'))).toEqual([1000, 1000]);
    for (const [call, address] of others) {
      expect(await times(2, () => call(address))).toEqual([30_000, 30_000]);
      expect(await times(2, () => call('203.0.113.4'))).toEqual([0, 30_000]);
    }
    expect(waitOf(await ask('203.0.113.5'))).toBe(0);
    service.advance(1000);
    expect(await times(2, () => ask('203.0.113.1'))).toEqual([0, 1000]);
  });
});
