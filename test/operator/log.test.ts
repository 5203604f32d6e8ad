import { describe, expect, test } from 'vitest';
import { CallerScripts } from '../../src/accounts/caller-scripts.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { beginChange } from '../../src/operator/operator-log.ts';
import { forFile, freshId } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { makeServerKey } from '../server-keys.ts';
import { openDesk } from './parts.ts';

/** The operators' log, on a separate Redis, because the log has the changes of all operators. */

const own = await forFile(startRedis());
const { redis } = own;
const { service, id, read, change, account } = await forFile(openDesk({ redis: own.location }));

const logOf = async (query: string) => (await read(`/log?${query}`)).body;
const newest = async (): Promise<object> => (await logOf('limit=1')).entries[0];

/** Acts while Redis refuses writes because it is full. */
async function whileFull<Result>(act: () => Promise<Result>): Promise<Result> {
  await redis.config('SET', 'maxmemory', '1');
  return act().finally(() => redis.config('SET', 'maxmemory', '0'));
}

test('the log lists each change in pages, the newest first, with its operator, its subject, its reason and its outcome', async () => {
  const { accountId } = await account(1);
  for (const key of ['a', 'b', 'c']) await change(`/accounts/${accountId}/adjust`, { coins: 1, key, reason: `reason ${key}` });
  const { entries, nextCursor } = await logOf('limit=2');
  const what = { account: accountId, coins: 1, key: 'c' };
  expect(entries).toMatchObject([
    { by: `key:${id}`, action: 'accounts adjust', what, why: 'reason c', outcome: { word: 'done', balanceAfterCoins: 4 } },
    { what: { key: 'b' } },
  ]);
  const next = await logOf(`limit=1&cursor=${nextCursor}`);
  expect(next.entries).toMatchObject([{ number: entries[1].number - 1, what: { key: 'a' } }]);
  for (const query of ['limit=0', 'limit=101', 'cursor=0', 'cursor=x']) expect((await logOf(query)).error.code).toBe('invalid_request');
});

test('the log has no entries of reads, and none of changes that could not begin', async () => {
  const before = await newest();
  await read('/boards/tetris');
  await change('/find', { who: 'install-0001' });
  await change('/boards/never-played/reset');
  await change(`/accounts/${accountIdOf(freshId())}/adjust`, { coins: 1, key: 'a' });
  expect(await newest()).toEqual(before);
});

test('the log has each read at private data of players in a room with its reason, and without an entry the read is refused', async () => {
  const [host, guest] = [freshId(), freshId()];
  const { code } = (await service.post('/v1/rooms', { installId: host, game: 'cards' })).body.room;
  await service.post(`/v1/rooms/${code}/join`, { installId: guest });
  await service.post(`/v1/rooms/${code}/private`, { installId: host, seats: { p2: { hand: ['hearts-7'] } } });
  const before = await newest();
  const seats = [
    { playerId: 'p1', accountId: accountIdOf(host) },
    { playerId: 'p2', accountId: accountIdOf(guest) },
  ];
  for (const query of ['', '?private=false']) expect((await read(`/rooms/${code}${query}`)).body.seats).toEqual(seats);
  for (const query of ['private=true', 'private=yes', 'private=true&reason='])
    expect((await read(`/rooms/${code}?${query}`)).body.error.code).toBe('invalid_request');
  expect((await read('/rooms/ZZZZZ?private=true&reason=test')).body.error.code).toBe('room_not_found');
  const { token: ofOther } = await makeServerKey(service, ['admin'], { game: 'chess' });
  expect((await read(`/rooms/${code}?private=true&reason=test`, ofOther)).body.error.code).toBe('forbidden');
  expect(await newest()).toEqual(before);

  const { body } = await read(`/rooms/${code}?private=true&reason=cheating,+ticket+12`);
  expect(body.seats).toEqual([seats[0], { ...seats[1], private: { hand: ['hearts-7'] } }]);
  const entry = { by: `key:${id}`, action: 'rooms show', what: { room: code, private: 'shown' }, why: 'cheating, ticket 12' };
  expect(await newest()).toMatchObject({ ...entry, outcome: { word: 'done' } });
  expect(JSON.stringify(await newest())).not.toContain('hearts');
  const refused = await whileFull(() => read(`/rooms/${code}?private=true&reason=full`));
  expect([refused.status, JSON.stringify(refused.body).includes('hearts')]).toEqual([503, false]);
});

const parts = { scripts: new CallerScripts(service.service.connections.scripts, { now: service.now }), now: service.now };
const ofTest = { action: 'test', by: 'ada@ops-1', what: { account: 'a'.repeat(22) } };

test('a change whose process died is in the log without an outcome, and no later change overwrites its entry', async () => {
  await beginChange({ ...ofTest, why: 'crash' }, parts);
  await change(`/accounts/${(await account(1)).accountId}/sign-out`, { reason: 'after it' });
  const { entries } = await logOf('limit=2');
  expect(entries).toMatchObject([
    { why: 'after it', outcome: { word: 'done' } },
    { why: 'crash', by: 'ada@ops-1' },
  ]);
  expect(entries[1]).not.toHaveProperty('outcome');
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
  const { status } = await whileFull(() => change(`/accounts/${accountId}/adjust`, { coins: 5, key: 'a' }));
  expect([status, (await read(`/accounts/${accountId}`)).body.balanceCoins, await newest()]).toEqual([503, 5, before]);
});

describe('a search', () => {
  const at = (day: number): number => Date.UTC(2020, 0, day, 12);
  const [ada, bob] = [accountIdOf('search-account-a'), accountIdOf('search-account-b')];
  const entryOf = (time: number, by: string, action: string, what: object, outcome: object = { word: 'done' }) =>
    JSON.stringify({ at: time, by, action, what, why: `day ${time}`, outcome });

  /** The entries of all pages, and how many pages there were. */
  async function pagesOf(query: string): Promise<{ pages: number; entries: { at: string }[] }> {
    const found = { pages: 0, entries: [] as { at: string }[] };
    let cursor: string | undefined;
    do {
      const body = await logOf(`${query}${cursor === undefined ? '' : `&cursor=${cursor}`}`);
      found.pages++;
      found.entries.push(...body.entries);
      cursor = body.nextCursor;
    } while (cursor !== undefined);
    return found;
  }

  const days = async (query: string): Promise<number[]> => {
    const { entries } = await pagesOf(`limit=2&from=2020-01-01T00:00:00Z&to=2020-01-06T00:00:00Z&${query}`);
    return entries.map((each) => new Date(each.at).getUTCDate());
  };

  test('finds by account, operator, kind and time, alone and together', async () => {
    // Entries of days that no other test uses. They are the first of the log.
    await redis.lpush(
      '{operator-log}',
      entryOf(at(5), 'key:zz12cd34', 'accountsx ban', { account: bob }),
      entryOf(at(4), 'key:ab12cd34', 'boards remove', { game: 'tetris', account: bob }),
      entryOf(at(3), 'key:ab12cd34 as root@ops-2', 'accounts ban', { account: bob }, { word: 'done', movedTo: ada }),
      entryOf(at(2), 'zoë as root@ops-1', 'accounts adjust', { account: ada, coins: 5, key: 'a' }, { word: 'done', balanceAfterCoins: 5 }),
      entryOf(at(1), 'root@ops-1', 'accounts ban', { account: ada }),
    );
    for (const [query, found] of [
      ['', [5, 4, 3, 2, 1]],
      [`account=${ada}`, [3, 2, 1]],
      ['operator=root@ops-1', [2, 1]],
      [`operator=${encodeURIComponent('zoë')}`, [2]],
      ['operator=key:ab12cd34', [4, 3]],
      ['action=accounts%20ban', [3, 1]],
      ['action=accounts', [3, 2, 1]],
      [`action=accounts&account=${ada}&operator=root@ops-2`, [3]],
    ] as const)
      expect([query, await days(query)]).toEqual([query, found]);
    const { entries } = await logOf('from=2020-01-02T12:00:00Z&to=2020-01-04T12:00:00%2B00:00');
    expect(entries.map((each: { at: string }) => each.at.slice(0, 10))).toEqual(['2020-01-03', '2020-01-02']);
    for (const query of ['account=nobody', 'operator=', `operator=${'x'.repeat(65)}`, 'action=Ban%20it', 'from=yesterday', 'to=2020'])
      expect([query, (await logOf(query)).error.code]).toEqual([query, 'invalid_request']);
  });

  test('examines 5,000 entries a page, and reaches the end of a long log', async () => {
    const entry = entryOf(at(1), 'a@b', 'boards reset', { game: 'tetris' });
    await redis.lpush('{operator-log}', ...Array.from({ length: 12_000 }, () => entry));
    const { pages, entries } = await pagesOf(`account=${bob}&from=2019-01-01T00:00:00Z`);
    expect([pages, entries.length]).toEqual([3, 3]);
    await redis.ltrim('{operator-log}', 12_000, -1);
  });

  test('is exported as CSV that no spreadsheet runs', async () => {
    const odd = { at: at(9), by: '=cmd@host', action: 'accounts ban', what: { account: `-${'a'.repeat(21)}` }, why: '"+1", he said' };
    await redis.rpush('{operator-log}', JSON.stringify(odd));
    const exported = async (query: string) => (await read(`/log/export?${query}`)).body;
    expect(await exported('from=2020-01-01T00:00:00Z&to=2020-01-03T00:00:00Z')).toEqual({
      ok: true,
      entries: 2,
      csv: [
        'number,at,by,action,account,what,why,outcome,result',
        `2,2020-01-02T12:00:00.000Z,zoë as root@ops-1,accounts adjust,${ada},"{""coins"":5,""key"":""a""}",day ${at(2)},done,"{""balanceAfterCoins"":5}"`,
        `1,2020-01-01T12:00:00.000Z,root@ops-1,accounts ban,${ada},,day ${at(1)},done,`,
        '',
      ].join('\r\n'),
    });
    const { csv } = await exported('from=2020-01-09T00:00:00Z&to=2020-01-10T00:00:00Z&operator=%3Dcmd@host');
    expect(csv.split('\r\n')[1]).toMatch(/^\d+,2020-01-09T12:00:00.000Z,'=cmd@host,accounts ban,'-a{21},,"""\+1"", he said",not known,$/);
    await redis.rpop('{operator-log}');
  });
});
