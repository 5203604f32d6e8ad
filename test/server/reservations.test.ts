import { describe, expect, test } from 'vitest';
import { OwnReservations } from '../../src/server/reservations.ts';
import { channelHere, freshId, sleep, start, type TestReply, type TestService } from '../harness.ts';
import { RawSocket } from '../realtime/raw-socket.ts';
import { eventually } from '../realtime/watcher.ts';
import { all, count, credit, roomy } from './connection-lines.ts';

describe('OwnReservations', () => {
  let now = 1_000_000;
  const reservationsOf = (perMinute: { creations: number; misses: number }): OwnReservations =>
    new OwnReservations({ perMinute, sockets: 2, perDay: { entries: undefined, saveBytes: undefined } }, () => now);

  // Each number stands for a guess. A guess passes, waits, or is refused with the time of its next try.
  test.each([
    ['waits while all misses are reserved for guesses under way', 2, '1 2 3', '1 passes, 2 passes, 3 waits'],
    [
      'passes once another one was right, and overtakes none that waits',
      1,
      '1 2 3 right right',
      '1 passes, 2 waits, 3 waits, right, 2 passes, right, 3 passes',
    ],
    [
      'waits on after a wrong one while another is under way',
      2,
      '1 2 3 wrong right',
      '1 passes, 2 passes, 3 waits, wrong, right, 3 passes',
    ],
    [
      'is told when to come back once every guess was wrong',
      2,
      '1 2 3 4 wrong wrong 5',
      '1 passes, 2 passes, 3 waits, 4 waits, wrong, wrong, 3 in 30000, 4 in 30000, 5 in 30000',
    ],
    ['waits behind others, even if a miss is left', 1, '1 2 minute 3 right', '1 passes, 2 waits, minute, 3 waits, right, 2 passes'],
  ])('a guess %s', async (_, misses, steps, expected) => {
    const reservations = reservationsOf({ creations: 1, misses });
    const log: string[] = [];
    for (const step of steps.split(' ')) {
      const note = (waitMs: number) => log.push(waitMs === 0 ? `${step} passes` : `${step} in ${waitMs}`);
      const waitMs = /\d/.test(step) ? reservations.take('misses', 'a') : undefined;
      if (waitMs === undefined) log.push(step);
      else if (typeof waitMs === 'number') note(waitMs);
      else {
        log.push(`${step} waits`);
        void waitMs.then(note);
      }
      if (step === 'right') reservations.giveBack('misses', 'a');
      if (step === 'wrong') reservations.spend('misses', 'a');
      if (step === 'minute') now += 60_000;
      await sleep(0);
    }
    expect(log.join(', ')).toBe(expected);
    // Another address waits for none of them.
    expect(reservations.take('misses', 'b')).toBe(0);
  });
});

describe('200 creations at once', () => {
  test.each<[string, (service: TestService, index: number) => Promise<TestReply>]>([
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
  ])('%s: 60 pass, and the others are told when to come back', async (_, make) => {
    await using service = await start({ settings: roomy, stoppedClock: true });
    const replies = await all(200, (index) => make(service, index));
    // On a slow machine some of the others are answered 503.
    expect([count(replies, 200) > 0, count(replies, 429)]).toEqual([true, 140]);
    const { error } = replies.find(({ status }) => status === 429)!.body;
    expect(error).toMatchObject({ code: 'rate_limited', retryAfterMs: expect.toSatisfy((ms: number) => ms > 0 && ms <= 1000) });
  });

  test('writes of accounts that exist all succeed, also once the address has used up its creations', async () => {
    await using service = await start({ settings: roomy, stoppedClock: true });
    const installs = Array.from({ length: 25 }, () => freshId());
    // Two first writes of an account at once are one creation.
    const writes = (times: number) => all(times, (index) => credit(service, installs[index % 25]!));
    expect([count(await writes(50), 200), count(await writes(200), 200)]).toEqual([50, 200]);
    expect(count(await all(45, () => credit(service, freshId())), 200)).toBe(35);
    const fresh = freshId();
    const refused = await credit(service, fresh);
    // One creation a second comes back.
    expect([refused.status, refused.body.error.retryAfterMs]).toEqual([429, 1000]);
    expect(count(await writes(50), 200)).toBe(50);
    service.advance(1000);
    expect((await credit(service, fresh)).status).toBe(200);
  });
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

  test.each<[string, (service: TestService) => Promise<{ status: number }>]>([
    ['wrong pairing tokens', (service) => service.get(`/v1/pair/status?token=${'A'.repeat(24)}`)],
    ['upgrades to wrong room codes', (service) => RawSocket.open(service.port, '/v1/rooms/BBBBB/live')],
  ])('%s: 30 are answered 404', async (_, ask) => {
    await using service = await start({ settings: roomy, stoppedClock: true });
    const replies = await all(100, () => ask(service));
    expect([count(replies, 404), count(replies, 429)]).toEqual([30, 70]);
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
    // One guess was wrong.
    expect(count(await all(40, () => service.get('/v1/rooms/BBBBB')), 404)).toBe(29);
  });
});
