import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { keyChangesOf, makeServerKey } from '../../server-keys.ts';
import { EventsOf, told } from './reading.ts';

const HOUR_MS = 3_600_000;

const service = await forFile(start({ settings: { EVENTS: 'on' } }));
const events = await EventsOf.from(service);

describe('GET /v1/events', () => {
  test('a waiting request is refused when its key is revoked, and when it expires', async () => {
    const { cursor } = (await service.get('/v1/events?limit=1000', { bearer: events.token })).body;
    for (const ends of ['revoked', 'expired']) {
      const { id, token } = await makeServerKey(service, ['events'], { expiresAt: service.now() + HOUR_MS });
      const waiting = service.get(`/v1/events?after=${cursor}&types=board.season_ended&wait=20`, { bearer: token });
      expect(await Promise.race([waiting, delay(200, 'waits')])).toBe('waits');
      if (ends === 'revoked') await keyChangesOf(service).revoke(id);
      else service.setClock(HOUR_MS);
      const { status, body } = await waiting;
      if (ends === 'expired') service.setClock(-HOUR_MS);
      const message = ends === 'revoked' ? 'This server key was revoked.' : 'This server key has expired.';
      expect([status, body.error]).toEqual([401, { code: 'bad_key', message }]);
    }
  });

  test('a credit and a debit are events in their order, with rising numbers and the ids of their ledger entries', async () => {
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins: 25, key: 'a' });
    await service.post('/v1/coins/credit', { installId, coins: 25, key: 'a' });
    await service.post('/v1/coins/debit', { installId, coins: 10, key: 'b' });
    const found = await events.of([accountIdOf(installId)], 3);
    expect(found.map(told)).toEqual([
      'account.created 1 {}',
      'coins.changed 2 {"entryId":"1","type":"credit","coins":25,"balanceAfterCoins":25}',
      'coins.changed 3 {"entryId":"2","type":"debit","coins":-10,"balanceAfterCoins":15}',
    ]);
    for (const { at } of found) expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(60_000);
    expect(new Set(found.map(({ id }) => id)).size).toBe(3);
  });

  test('`types` leaves other events out, and the cursor passes them', async () => {
    const { cursor } = events;
    const installId = freshId();
    for (const key of ['a', 'b', 'c']) await service.post('/v1/coins/credit', { installId, coins: 1, key });
    await events.of([accountIdOf(installId)], 4);
    const { body } = await events.get(`?types=account.created&limit=1000&after=${cursor}`);
    expect(new Set(body.events.map(({ type }: { type: string }) => type))).toEqual(new Set(['account.created']));
    expect((await events.get(`?types=board.season_ended&after=${cursor}`)).body.cursor).not.toBe(cursor);
  });

  test('a long-poll answers at the first event', { timeout: 24_000 }, async () => {
    await events.skip();
    const polled = events.get(`?after=${events.cursor}&wait=25`);
    await service.post('/v1/coins/credit', { installId: freshId(), coins: 1, key: 'a' });
    expect((await polled).body.events.length).toBeGreaterThan(0);
  });
});

describe('refusals', () => {
  test('without a key it is 401, without the scope 403, with a bad cursor or an unknown type 400', async () => {
    expect((await service.get('/v1/events')).body.error.code).toBe('bad_key');
    const other = await makeServerKey(service, ['coins']);
    expect((await service.get('/v1/events', { bearer: other.token })).body.error.code).toBe('forbidden');
    for (const query of ['?after=A', '?after=zzzzzzzzzzz', '?types=coins.changed,nothing', '?limit=1001', '?wait=26'])
      expect([query, (await events.get(query)).status]).toEqual([query, 400]);
  });

  test('with EVENTS=off it is 404', async () => {
    await using off = await start();
    const { token: key } = await makeServerKey(off, ['events']);
    expect((await off.get('/v1/events', { bearer: key })).body.error.code).toBe('not_found');
  });
});
