import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { recorded } from '../../src/operator/operation.ts';
import { beginChange } from '../../src/operator/operator-log.ts';
import { CallerScripts } from '../../src/accounts/caller-scripts.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { freshId, start, type TestReply, type TestService } from '../harness.ts';
import { startTcpRedis } from '../realtime/child.ts';
import { makeServerKey } from '../server-keys.ts';

/** The operators' log, on a separate Redis, because the log has the changes of all operators. */

let folder: string;
let stop: () => Promise<void>;
let redis: Redis;
let service: TestService;
let bearer: string;
let id: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'coinop-log-'));
  const tcp = await startTcpRedis(folder);
  stop = tcp.stop;
  redis = new Redis(tcp.url);
  service = await start({ settings: { ADMIN_API: 'on' }, redis: { url: tcp.url } });
  ({ token: bearer, id } = await makeServerKey(service, ['admin']));
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  redis.disconnect();
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

const look = (path: string): Promise<TestReply> => service.get(`/v1/admin${path}`, { bearer });
const change = (path: string, body: object): Promise<TestReply> => service.post(`/v1/admin${path}`, body, { bearer });

async function account(coins: number): Promise<{ accountId: string }> {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins, key: 'first' });
  return { accountId: accountIdOf(installId) };
}

const newest = async (): Promise<object> => (await look('/log?limit=1')).body.entries[0];

test('the log lists each change in pages, the newest first, with its operator, its subject, its reason and its outcome', async () => {
  const { accountId } = await account(1);
  for (const key of ['a', 'b', 'c']) await change(`/accounts/${accountId}/adjust`, { coins: 1, key, reason: `reason ${key}` });
  const { body } = await look('/log?limit=2');
  expect(body.entries).toMatchObject([
    {
      by: `key:${id}`,
      action: 'accounts adjust',
      what: { account: accountId, coins: 1, key: 'c' },
      why: 'reason c',
      outcome: { word: 'done', balanceAfterCoins: 4 },
    },
    { what: { key: 'b' } },
  ]);
  const next = await look(`/log?limit=1&cursor=${body.nextCursor}`);
  expect(next.body.entries).toMatchObject([{ number: body.entries[1].number - 1, what: { key: 'a' } }]);
  for (const query of ['limit=0', 'limit=101', 'cursor=0', 'cursor=x']) expect((await look(`/log?${query}`)).status).toBe(400);
});

test('the log has no entries of looks, and none of changes that could not begin', async () => {
  const before = await newest();
  await look('/boards/tetris');
  await change('/find', { who: 'install-0001' });
  await change('/boards/never-played/reset', { reason: 'test' });
  await change(`/accounts/${accountIdOf(freshId())}/adjust`, { coins: 1, key: 'a', reason: 'test' });
  expect(await newest()).toEqual(before);
});

test('the log has each look at private data of players in a room with its reason, and without an entry the look is refused', async () => {
  const [host, guest] = [freshId(), freshId()];
  const { code } = (await service.post('/v1/rooms', { installId: host, game: 'cards' })).body.room;
  await service.post(`/v1/rooms/${code}/join`, { installId: guest });
  await service.post(`/v1/rooms/${code}/private`, { installId: host, seats: { p2: { hand: ['hearts-7'] } } });
  const before = await newest();
  for (const query of ['', '?private=false']) {
    const { body } = await look(`/rooms/${code}${query}`);
    expect(body.seats).toEqual([
      { playerId: 'p1', accountId: accountIdOf(host) },
      { playerId: 'p2', accountId: accountIdOf(guest) },
    ]);
  }
  for (const query of ['private=true', 'private=yes', 'private=true&reason='])
    expect((await look(`/rooms/${code}?${query}`)).body.error.code).toBe('invalid_request');
  expect((await look('/rooms/ZZZZZ?private=true&reason=test')).body.error.code).toBe('room_not_found');
  const { token: ofOther } = await makeServerKey(service, ['admin'], { game: 'chess' });
  const other = await service.get(`/v1/admin/rooms/${code}?private=true&reason=test`, { bearer: ofOther });
  expect(other.body.error.code).toBe('forbidden');
  expect(await newest()).toEqual(before);

  const { body } = await look(`/rooms/${code}?private=true&reason=cheating,+ticket+12`);
  expect(body.seats).toEqual([
    { playerId: 'p1', accountId: accountIdOf(host) },
    { playerId: 'p2', accountId: accountIdOf(guest), private: { hand: ['hearts-7'] } },
  ]);
  const entry = { by: `key:${id}`, action: 'rooms show', what: { room: code, private: 'shown' }, why: 'cheating, ticket 12' };
  expect(await newest()).toMatchObject({ ...entry, outcome: { word: 'done' } });
  expect(JSON.stringify(await newest())).not.toContain('hearts');

  await redis.config('SET', 'maxmemory', '1');
  const refused = await look(`/rooms/${code}?private=true&reason=full`);
  await redis.config('SET', 'maxmemory', '0');
  expect([refused.status, JSON.stringify(refused.body).includes('hearts')]).toEqual([503, false]);
});

test('reasons contain no control characters and no right-to-left overrides', async () => {
  const { accountId } = await account(1);
  for (const reason of ['', ' ', 'a\u001b[2J', 'a\nb', 'a\u202eb', 'x'.repeat(121), 'x'.repeat(5000)])
    expect((await change(`/accounts/${accountId}/sign-out`, { reason })).body.error.code).toBe('invalid_request');
});

test('a change whose process died is in the log without an outcome, and no later change overwrites its entry', async () => {
  const scripts = new ScriptRunner(service.service.connections.scripts, { now: service.now });
  await beginChange(
    { action: 'accounts adjust', by: 'ada@ops-1', what: { account: 'a'.repeat(22) }, why: 'crash' },
    { scripts, now: service.now },
  );
  const { accountId } = await account(1);
  await change(`/accounts/${accountId}/sign-out`, { reason: 'after it' });
  const { entries } = (await look('/log?limit=2')).body;
  expect(entries).toMatchObject([
    { why: 'after it', outcome: { word: 'done' } },
    { why: 'crash', by: 'ada@ops-1' },
  ]);
  expect(entries[1]).not.toHaveProperty('outcome');
});

test('an entry is written before its change, and gets the outcome after it, also if the change failed', async () => {
  const parts = { scripts: new CallerScripts(service.service.connections.scripts, { now: service.now }), now: service.now };
  const change = { action: 'test', by: 'ada@ops-1', what: {}, why: 'order' };
  let seen: object = {};
  const act = async (): Promise<never> => {
    seen = await newest();
    throw new Error('the link broke');
  };
  await expect(recorded({ ...change, act }, parts)).rejects.toThrow('the link broke');
  expect(seen).toMatchObject({ why: 'order' });
  expect(seen).not.toHaveProperty('outcome');
  expect(await newest()).toMatchObject({ why: 'order', outcome: { word: 'unknown', reason: 'the link broke' } });
});

test('a damaged entry is shown unchanged', async () => {
  // The second time exists in no calendar.
  for (const entry of ['{"at":', '{"at":8640000000000001,"by":"a","action":"b","what":{},"why":""}']) {
    await redis.rpush('{operator-log}', entry);
    expect(await newest()).toMatchObject({ action: 'unreadable', what: { entry } });
    await redis.rpop('{operator-log}');
  }
});

test('while Redis refuses writes, a change is refused without an effect', async () => {
  const { accountId } = await account(5);
  const before = await newest();
  await redis.config('SET', 'maxmemory', '1');
  const reply = await change(`/accounts/${accountId}/adjust`, { coins: 5, key: 'a', reason: 'full' });
  await redis.config('SET', 'maxmemory', '0');
  expect(reply.status).toBe(503);
  expect((await look(`/accounts/${accountId}`)).body.balanceCoins).toBe(5);
  expect(await newest()).toEqual(before);
});

describe('a search', () => {
  const at = (day: number, hour = 12): number => Date.UTC(2020, 0, day, hour);
  const [ada, bob] = [accountIdOf('search-account-a'), accountIdOf('search-account-b')];

  /** Entries of days that no other test uses. They are the first of the log. */
  async function write(): Promise<void> {
    const entry = (time: number, by: string, action: string, what: object, outcome: object = { word: 'done' }) =>
      JSON.stringify({ at: time, by, action, what, why: `day ${time}`, outcome });
    await redis.lpush(
      '{operator-log}',
      ...[
        entry(at(1), 'root@ops-1', 'accounts ban', { account: ada }),
        entry(at(2), 'zoë as root@ops-1', 'accounts adjust', { account: ada, coins: 5, key: 'a' }, { word: 'done', balanceAfterCoins: 5 }),
        entry(at(3), 'key:ab12cd34 as root@ops-2', 'accounts ban', { account: bob }, { word: 'done', movedTo: ada }),
        entry(at(4), 'key:ab12cd34', 'boards remove', { game: 'tetris', account: bob }),
        entry(at(5), 'key:zz12cd34', 'accountsx ban', { account: bob }),
      ].toReversed(),
    );
  }

  const days = async (query: string): Promise<number[]> => {
    const numbers: number[] = [];
    let cursor = '';
    do {
      const { status, body } = await look(`/log?limit=2&from=2020-01-01T00:00:00Z&to=2020-01-06T00:00:00Z&${query}${cursor}`);
      expect(status).toBe(200);
      numbers.push(...body.entries.map((each: { at: string }) => new Date(each.at).getUTCDate()));
      cursor = body.nextCursor === undefined ? '' : `&cursor=${body.nextCursor}`;
    } while (cursor !== '');
    return numbers;
  };

  test('finds by account, operator, kind and time, alone and together', async () => {
    await write();
    expect(await days('')).toEqual([5, 4, 3, 2, 1]);
    expect(await days(`account=${ada}`)).toEqual([3, 2, 1]);
    expect(await days('operator=root@ops-1')).toEqual([2, 1]);
    expect(await days(`operator=${encodeURIComponent('zoë')}`)).toEqual([2]);
    expect(await days('operator=key:ab12cd34')).toEqual([4, 3]);
    expect(await days('action=accounts%20ban')).toEqual([3, 1]);
    expect(await days('action=accounts')).toEqual([3, 2, 1]);
    expect(await days(`action=accounts&account=${ada}&operator=root@ops-2`)).toEqual([3]);
    const times = await look('/log?from=2020-01-02T12:00:00Z&to=2020-01-04T12:00:00%2B00:00');
    expect(times.body.entries.map((each: { at: string }) => each.at.slice(0, 10))).toEqual(['2020-01-03', '2020-01-02']);
    for (const query of ['account=nobody', 'operator=', `operator=${'x'.repeat(65)}`, 'action=Ban%20it', 'from=yesterday', 'to=2020'])
      expect([query, (await look(`/log?${query}`)).status]).toEqual([query, 400]);
  });

  test('examines 5,000 entries a page, and reaches the end of a long log', async () => {
    const entry = JSON.stringify({ at: at(1), by: 'a@b', action: 'boards reset', what: { game: 'tetris' }, why: 'x' });
    await redis.lpush('{operator-log}', ...Array.from({ length: 12_000 }, () => entry));
    await redis.lset('{operator-log}', 0, entry.replace('tetris', 'the-first'));
    let [pages, found, cursor] = [0, 0, ''];
    do {
      const { body } = await look(`/log?account=${bob}&from=2019-01-01T00:00:00Z${cursor}`);
      [pages, found] = [pages + 1, found + body.entries.length];
      cursor = body.nextCursor === undefined ? '' : `&cursor=${body.nextCursor}`;
    } while (cursor !== '');
    expect([pages, found]).toEqual([3, 3]);
    await redis.ltrim('{operator-log}', 12_000, -1);
  });

  test('is exported as CSV that no spreadsheet runs', async () => {
    await redis.rpush(
      '{operator-log}',
      JSON.stringify({ at: at(9), by: '=cmd@host', action: 'accounts ban', what: { account: `-${'a'.repeat(21)}` }, why: '"+1", he said' }),
    );
    const { body } = await look('/log/export?from=2020-01-01T00:00:00Z&to=2020-01-03T00:00:00Z');
    expect(body).toEqual({
      ok: true,
      entries: 2,
      csv: [
        'number,at,by,action,account,what,why,outcome,result',
        `2,2020-01-02T12:00:00.000Z,zoë as root@ops-1,accounts adjust,${ada},"{""coins"":5,""key"":""a""}",day ${at(2)},done,"{""balanceAfterCoins"":5}"`,
        `1,2020-01-01T12:00:00.000Z,root@ops-1,accounts ban,${ada},,day ${at(1)},done,`,
        '',
      ].join('\r\n'),
    });
    const odd = (await look('/log/export?from=2020-01-09T00:00:00Z&to=2020-01-10T00:00:00Z&operator=%3Dcmd@host')).body.csv.split(
      '\r\n',
    )[1];
    expect(odd).toMatch(/^\d+,2020-01-09T12:00:00.000Z,'=cmd@host,accounts ban,'-a{21},,"""\+1"", he said",not known,$/);
    await redis.rpop('{operator-log}');
  });
});
