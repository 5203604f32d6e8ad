import { beforeEach, describe, expect, test } from 'vitest';
import { OwnReservations } from '../../src/server/reservations.ts';
import { channelHere, freshId, sleep, start, type TestReply, type TestService } from '../harness.ts';
import { RawSocket } from '../realtime/raw-socket.ts';
import { eventually } from '../realtime/watcher.ts';
import { all, count, credit, limited, roomy } from './connection-lines.ts';

describe('OwnReservations', () => {
  let now: number;
  const reservationsOf = (perMinute?: { creations: number; misses: number }): OwnReservations =>
    new OwnReservations({ perMinute, sockets: 2, entriesPerDay: undefined }, () => now);
  beforeEach(() => void (now = 1_000_000));

  test('without limits creations and misses are unbounded, and sockets are not', () => {
    const reservations = reservationsOf();
    for (let index = 0; index < 1000; index++) {
      expect(reservations.take('creations', 'a')).toBe(0);
      expect(reservations.take('misses', 'a')).toBe(0);
    }
    expect([1, 2, 3].map(() => reservations.take('sockets', 'a'))).toEqual([0, 0, 10_000]);
  });

  test('a socket that closes makes room for another of its address', () => {
    const reservations = reservationsOf();
    expect([reservations.take('sockets', 'a'), reservations.take('sockets', 'a'), reservations.take('sockets', 'b')]).toEqual([0, 0, 0]);
    reservations.giveBack('sockets', 'b');
    expect(reservations.take('sockets', 'a')).toBe(10_000);
    reservations.giveBack('sockets', 'a');
    expect([reservations.take('sockets', 'a'), reservations.take('sockets', 'a')]).toEqual([0, 10_000]);
  });

  test('creations are counted over a minute, and one that is given back can be taken again', () => {
    const reservations = reservationsOf({ creations: 2, misses: 1 });
    expect([1, 2, 3].map(() => reservations.take('creations', 'a'))).toEqual([0, 0, 30_000]);
    expect(reservations.take('creations', 'b')).toBe(0);
    reservations.giveBack('creations', 'a');
    expect([1, 2].map(() => reservations.take('creations', 'a'))).toEqual([0, 30_000]);
    now += 30_000;
    expect([1, 2].map(() => reservations.take('creations', 'a'))).toEqual([0, 30_000]);
  });

  describe('misses', () => {
    /** What has become of guesses that wait, in the order in which they were answered. */
    function guesses(misses: number) {
      const reservations = reservationsOf({ creations: 1, misses });
      const answered: string[] = [];
      const guess = (name: string): 'passes' | 'waits' | number => {
        const waitMs = reservations.take('misses', 'a');
        if (!(waitMs instanceof Promise)) return waitMs === 0 ? 'passes' : waitMs;
        void waitMs.then((found) => answered.push(found === 0 ? name : `${name}: ${found} ms`));
        return 'waits';
      };
      const right = () => reservations.giveBack('misses', 'a');
      const wrong = () => reservations.spend('misses', 'a');
      return { guess, right, wrong, answered, turn: () => sleep(0) };
    }

    test('a guess waits while all remaining misses are reserved for guesses under way', () => {
      const { guess } = guesses(2);
      expect([guess('1'), guess('2'), guess('3')]).toEqual(['passes', 'passes', 'waits']);
    });

    test('a right guess lets the next one pass', async () => {
      const { guess, right, answered, turn } = guesses(1);
      expect([guess('1'), guess('2'), guess('3')]).toEqual(['passes', 'waits', 'waits']);
      right();
      await turn();
      expect(answered).toEqual(['2']);
      right();
      await turn();
      expect(answered).toEqual(['2', '3']);
    });

    test('a wrong guess keeps the others waiting while another guess is under way', async () => {
      const { guess, right, wrong, answered, turn } = guesses(2);
      expect([guess('1'), guess('2'), guess('3')]).toEqual(['passes', 'passes', 'waits']);
      wrong();
      await turn();
      expect(answered).toEqual([]);
      right();
      await turn();
      expect(answered).toEqual(['3']);
    });

    test('once every guess was wrong, all waiting ones are told when to come back', async () => {
      const { guess, wrong, answered, turn } = guesses(2);
      expect([guess('1'), guess('2'), guess('3'), guess('4')]).toEqual(['passes', 'passes', 'waits', 'waits']);
      wrong();
      wrong();
      await turn();
      expect(answered).toEqual(['3: 30000 ms', '4: 30000 ms']);
      expect(guess('5')).toBe(30_000);
    });

    test('a new guess does not overtake those that wait', async () => {
      const { guess, right, answered, turn } = guesses(1);
      expect([guess('1'), guess('2')]).toEqual(['passes', 'waits']);
      now += 60_000;
      expect(guess('3')).toBe('waits');
      right();
      await turn();
      expect(answered[0]).toBe('2');
    });

    test('addresses do not wait for each other', () => {
      const reservations = reservationsOf({ creations: 1, misses: 1 });
      expect([reservations.take('misses', 'a'), reservations.take('misses', 'b')]).toEqual([0, 0]);
    });
  });
});

describe('200 creations at once', () => {
  test.each<[string, (service: TestService, index: number) => Promise<TestReply>]>([
    ['first writes', (service) => credit(service, freshId())],
    ['sign-ins', (service) => service.post('/v1/login', { installId: freshId() })],
    ['rooms', (service) => service.post('/v1/rooms', { installId: freshId() })],
    [
      'first scores of boards',
      (service) => service.post(`/v1/highscores/${freshId('board').toLowerCase()}`, { installId: freshId(), score: 1, name: 'A' }),
    ],
    [
      'first writes of four endpoints',
      (service, index) => {
        const installId = freshId();
        const writes = [
          () => credit(service, installId),
          () => service.post('/v1/subscription/report', { installId, subscribed: true }),
          () => service.post('/v1/entitlement/first-run', { installId }),
          () => service.post('/v1/account/resolve', { installId }),
        ];
        return writes[index % writes.length]!();
      },
    ],
  ])('%s: 60 succeed, and the others are told when to come back', async (_, make) => {
    await using service = await start({ settings: roomy, stoppedClock: true });
    const replies = await all(200, (index) => make(service, index));
    expect([count(replies, 200), count(replies, 429)]).toEqual([60, 140]);
    const { error } = replies.find(({ status }) => status === 429)!.body;
    expect(error).toMatchObject({ code: 'rate_limited' });
    expect(error.retryAfterMs).toBeGreaterThan(0);
    expect(error.retryAfterMs).toBeLessThanOrEqual(1000);
  });

  test('writes of accounts that exist all succeed, and do not count as creations', async () => {
    await using service = await start({ settings: roomy, stoppedClock: true });
    const installs = await all(50, async () => {
      const installId = freshId();
      await credit(service, installId);
      return installId;
    });
    expect(count(await all(200, (index) => credit(service, installs[index % 50]!)), 200)).toBe(200);
    expect(count(await all(20, () => credit(service, freshId())), 200)).toBe(10);
  });
});

test('an address that has used up its 60 creations a minute still writes to accounts that exist', async () => {
  await using service = await start({ settings: limited, stoppedClock: true });
  const known = freshId();
  const writeTo = (installId: string, key: string) => service.post('/v1/coins/credit', { installId, coins: 1, key });
  expect((await writeTo(known, 'a')).status).toBe(200);
  for (let index = 1; index < 60; index++) expect((await service.post('/v1/login', { installId: freshId() })).status).toBe(200);
  const refused = await service.post('/v1/login', { installId: freshId() });
  expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited']);
  const fresh = freshId();
  const first = await writeTo(fresh, 'a');
  // One creation a second comes back.
  expect([first.status, first.body.error.retryAfterMs]).toEqual([429, 1000]);
  expect((await writeTo(known, 'b')).body.balanceAfterCoins).toBe(2);
  service.advance(60_000);
  expect((await writeTo(fresh, 'a')).body.balanceAfterCoins).toBe(1);
});

describe('200 wrong guesses at once', () => {
  test.each<[string, (service: TestService, code: string) => Promise<TestReply>]>([
    ['looked up', (service, code) => service.get(`/v1/rooms/${code}`)],
    ['waited for', (service, code) => service.get(`/v1/rooms/${code}?since=0&wait=1`)],
    ['joined', (service, code) => service.post(`/v1/rooms/${code}/join`, { installId: 'somebody-who-guesses' })],
  ])('wrong room codes that are %s: 30 are answered 404, and right codes do not count', async (_, ask) => {
    await using service = await start({ settings: roomy, stoppedClock: true });
    const { body } = await service.post('/v1/rooms', { installId: freshId() });
    const right = await all(29, () => ask(service, body.room.code));
    expect(count(right, 200)).toBe(29);
    const replies = await all(200, () => ask(service, 'BBBBB'));
    expect([count(replies, 404), count(replies, 429)]).toEqual([30, 170]);
    expect((await ask(service, body.room.code)).status).toBe(429);
    service.advance(2000);
    expect((await ask(service, body.room.code)).status).toBe(200);
    expect((await ask(service, 'BBBBB')).status).toBe(404);
  });

  test('wrong pairing tokens: 30 are answered 404', async () => {
    await using service = await start({ settings: roomy, stoppedClock: true });
    const replies = await all(200, () => service.get(`/v1/pair/status?token=${'A'.repeat(24)}`));
    expect([count(replies, 404), count(replies, 429)]).toEqual([30, 170]);
  });

  test('upgrades to wrong room codes: 30 are answered 404', async () => {
    await using service = await start({ settings: roomy, stoppedClock: true });
    const refused = await all(100, () => RawSocket.open(service.port, '/v1/rooms/BBBBB/live'));
    expect([count(refused, 404), count(refused, 429)]).toEqual([30, 70]);
  });

  test('long-polls on a room that exists hold no guess while they wait', async () => {
    await using service = await start({ settings: roomy, stoppedClock: true });
    const { body } = await service.post('/v1/rooms', { installId: freshId() });
    const { code, seq } = body.room;
    const polls = all(40, () => service.get(`/v1/rooms/${code}?since=${seq}&wait=2`));
    await eventually(async () => (await service.service.redis.pubsub('NUMSUB', channelHere(`{room:${code}}`)))[1] === 1);
    expect(count(await all(40, () => service.get(`/v1/rooms/${code}?since=${seq}&wait=1`)), 200)).toBe(40);
    expect((await service.get('/v1/rooms/BBBBB')).status).toBe(404);
    expect(count(await polls, 200)).toBe(40);
  });
});
