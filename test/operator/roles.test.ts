import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { api } from '../../src/api.ts';
import { operations, operatorApi } from '../../src/operator/endpoints.ts';
import { consoleApi } from '../../src/operator/page/endpoints.ts';
import { parseServerKey, SERVER_KEYS } from '../../src/server/identity/server-key-record.ts';
import { scopes, type Reach } from '../../src/server/identity/server-keys.ts';
import { roles, type Role } from '../../src/server/identity/roles.ts';
import { forFile, freshId, start, type TestReply } from '../harness.ts';
import { keyChangesOf, makeServerKey } from '../server-keys.ts';
import { filled, nameOf } from '../valid-requests.ts';

/** The rights of each role, and of a key of one game. */

const nobody = accountIdOf(freshId());
const game = freshId('game').toLowerCase();
const reason = 'test';

const service = await forFile(start({ settings: { ADMIN_API: 'on' } }));
const tokens = new Map<Role, string>();
for (const role of roles) tokens.set(role, (await makeServerKey(service, ['admin'], { role })).token);
/** A key of a server, with every scope but that of operators. */
const { token: ofServer } = await makeServerKey(
  service,
  scopes.filter((scope) => scope !== 'admin'),
);
const { token: ofGame } = await makeServerKey(service, scopes, { game });

/** Each operation with its least role, and a request that changes nothing: this account, board and room do not exist. */
const asked: Record<string, [least: Role, fields?: Record<string, unknown>, reach?: Reach]> = {
  'accounts find': ['viewer', { who: nobody, game }, 'game'],
  'accounts list': ['viewer'],
  'accounts show': ['viewer', { accountId: nobody }],
  'accounts history': ['viewer', { accountId: nobody }],
  'accounts events': ['viewer', { accountId: nobody }],
  'accounts timeline': ['viewer', { accountId: nobody }],
  'accounts explain': ['viewer', { accountId: nobody }],
  'accounts adjust': ['support', { accountId: nobody, coins: 1000, key: 'a', reason }],
  'accounts sign-out': ['support', { accountId: nobody, reason }],
  'accounts end-session': ['support', { accountId: nobody, session: '0.abcdefgh', reason }],
  'accounts remove-sign-in': ['support', { accountId: nobody, signIn: 'a'.repeat(22), reason }],
  'accounts ban': ['support', { accountId: nobody, reason }],
  'accounts unban': ['support', { accountId: nobody, reason }],
  'accounts give': ['economist', { accountId: nobody, until: '2027-01-01T00:00:00Z', reason }],
  'accounts take-back': ['economist', { accountId: nobody, reason }],
  'accounts rename': ['support', { accountId: nobody, name: 'Ada', reason }],
  'accounts unname': ['support', { accountId: nobody, reason }],
  'accounts note': ['support', { accountId: nobody, text: 'called', reason }],
  'accounts drop-note': ['support', { accountId: nobody, note: 'a'.repeat(12), reason }],
  'accounts delete': ['admin', { accountId: nobody, reason }],
  'saves bring-back': ['support', { accountId: nobody, game, name: 'slot-1', version: 1, reason }, 'game'],
  'coins grant': ['economist', { entries: [{ account: nobody, coins: 1 }], key: 'a', reason }],
  'coins take-back': ['economist', { accounts: [nobody], key: 'a', reason }],
  'purchases show': ['viewer', { purchase: 'GPA.0000' }],
  'purchases stuck': ['viewer'],
  'purchases look': ['support', { purchase: 'GPA.0000', reason }],
  'purchases move': ['economist', { purchase: 'GPA.0000', account: nobody, key: 'a', reason }],
  'boards list': ['viewer', { game }, 'game'],
  'boards seasons': ['viewer', { game }, 'game'],
  'boards remove': ['economist', { game, player: nobody, reason }, 'game'],
  'boards reset': ['economist', { game, reason }, 'game'],
  'boards drop': ['admin', { game, archive: 1, reason }, 'game'],
  'trials restart': ['economist', { device: freshId('device'), reason }],
  'trials restore': ['economist', { device: freshId('device'), reason }],
  'rooms list': ['viewer', { game }, 'own'],
  'rooms show': ['viewer', { code: 'BCDFG' }, 'room'],
  'rooms kick': ['support', { code: 'BCDFG', player: 'p1', reason }, 'room'],
  'rooms pardon': ['support', { code: 'BCDFG', account: nobody, reason }, 'room'],
  'rooms end': ['support', { code: 'BCDFG', reason }, 'room'],
  'webhooks list': ['viewer'],
  'webhooks show': ['viewer', { id: 'nosuch00' }],
  'webhooks deliveries': ['viewer', { id: 'nosuch00' }],
  'webhooks repeat': ['support', { id: 'nosuch00', event: 'none', reason }],
  'webhooks repeat-failed': ['support', { id: 'nosuch00', reason }],
  'webhooks disable': ['economist', { id: 'nosuch00', reason }],
  'webhooks enable': ['economist', { id: 'nosuch00', reason }],
  'webhooks replay': ['economist', { id: 'nosuch00', from: '2026-11-22T12:00:00Z', reason }],
  'webhooks add': ['admin', { url: 'https://127.0.0.1/', reason }],
  'webhooks rotate': ['admin', { id: 'nosuch00', reason }],
  'webhooks remove': ['admin', { id: 'nosuch00', reason }],
  'todo list': ['viewer'],
  'numbers list': ['viewer'],
  'numbers top': ['viewer', { by: 'balance' }],
  'numbers export': ['viewer'],
  'log list': ['viewer'],
  'log export': ['viewer'],
};

/** Sends a request to an endpoint, such as `GET /v1/admin/log`. */
function send(route: string, fields: Record<string, unknown>, bearer?: string): Promise<TestReply> {
  const [method, path] = route.split(' ') as [string, string];
  const query = new URLSearchParams(Object.entries(fields).filter(([field]) => !path.includes(`{${field}}`)) as [string, string][]);
  const options = bearer === undefined ? {} : { bearer };
  return method === 'GET' ? service.get(`${filled(path, fields)}?${query}`, options) : service.post(filled(path, fields), fields, options);
}

const routes = new Map(operations.map(({ name, method, path }) => [name, `${method} ${path}`]));
const ask = (name: string, fields: Record<string, unknown>, role: Role) => send(routes.get(name)!, fields, tokens.get(role));

describe('every operation', () => {
  test('is in the table', () => {
    expect(operations.map(({ name }) => name).toSorted()).toEqual(Object.keys(asked).toSorted());
  });

  test.each(Object.entries(asked))(
    '%s needs an operator key, and is forbidden below its least role, which the refusal names',
    async (name, [least, fields = {}]) => {
      expect((await send(routes.get(name)!, fields)).body.error.code).toBe('server_only');
      expect((await send(routes.get(name)!, fields, ofServer)).body.error).toMatchObject({ code: 'forbidden', scope: 'admin' });
      for (const role of roles) {
        const { status, body } = await ask(name, fields, role);
        if (roles.indexOf(role) >= roles.indexOf(least)) expect([role, status]).toEqual([role, expect.toBeOneOf([200, 400, 404, 409])]);
        else
          expect([role, body.error]).toEqual([
            role,
            { code: 'forbidden', message: `This needs the role ${least}, but the key has the role ${role}.`, role: least },
          ]);
      }
    },
  );
});

test('support may add or take up to SUPPORT_ADJUST_COINS, and an economist more', async () => {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins: 5000, key: 'first' });
  const accountId = accountIdOf(installId);
  const adjust = async (coins: number, role: Role) =>
    (await ask('accounts adjust', { accountId, coins, key: `${role} ${coins}`, reason }, role)).body;
  expect(await adjust(1000, 'support')).toMatchObject({ balanceAfterCoins: 6000 });
  expect(await adjust(-1000, 'support')).toMatchObject({ balanceAfterCoins: 5000 });
  for (const coins of [1001, -1001]) expect((await adjust(coins, 'support')).error).toMatchObject({ code: 'forbidden', role: 'economist' });
  expect(await adjust(-1001, 'economist')).toMatchObject({ balanceAfterCoins: 3999 });
  await using stingy = await start({ settings: { ADMIN_API: 'on', SUPPORT_ADJUST_COINS: '0' } });
  const { token } = await makeServerKey(stingy, ['admin'], { role: 'support' });
  const path = `/v1/admin/accounts/${accountId}/adjust`;
  expect((await stingy.post(path, { coins: 1, key: 'a', reason }, { bearer: token })).body.error.role).toBe('economist');
});

describe('the corrections of a support key', () => {
  const settings = { ADMIN_API: 'on', SUPPORT_ADJUST_COINS: '1000', SUPPORT_DAILY_COINS: '2500' };
  async function desk() {
    const here = await start({ settings });
    const installId = freshId();
    await here.post('/v1/coins/credit', { installId, coins: 5000, key: 'first' });
    const path = `/v1/admin/accounts/${accountIdOf(installId)}/adjust`;
    const { token } = await makeServerKey(here, ['admin'], { role: 'support' });
    const by = (bearer: string) => async (coins: number, key: string) => (await here.post(path, { coins, key, reason }, { bearer })).body;
    return { here, token, by, adjust: by(token), [Symbol.asyncDispose]: () => here[Symbol.asyncDispose]() };
  }

  test('are bounded by a daily sum, also after a restart, and the next day starts at 0', async () => {
    await using first = await desk();
    expect(await first.adjust(1000, 'a')).toMatchObject({ balanceAfterCoins: 6000 });
    expect(await first.adjust(-1000, 'b')).toMatchObject({ balanceAfterCoins: 5000 });
    // Two requests do not count: a replay, and a correction that the account refuses.
    expect(await first.adjust(1000, 'a')).toMatchObject({ replayed: true });
    expect((await first.adjust(500, 'a')).error.code).toBe('key_reused');
    expect((await first.adjust(-500, 'a')).error.code).toBe('key_reused');
    expect((await first.adjust(501, 'c')).error).toEqual({
      code: 'forbidden',
      message:
        'This key has corrected 2000 coins today, of 2500 (SUPPORT_DAILY_COINS): 500 are left until midnight UTC. More needs the role economist.',
      role: 'economist',
      leftCoins: 500,
    });
    await using second = await desk();
    second.here.advance(first.here.now() - second.here.now());
    const restarted = second.by(first.token);
    expect((await restarted(501, 'c')).error.leftCoins).toBe(500);
    expect(await restarted(500, 'c')).toMatchObject({ balanceAfterCoins: 5500 });
    expect((await restarted(1, 'd')).error.leftCoins).toBe(0);
    // A repetition after a lost answer does not count as a second correction.
    expect(await restarted(500, 'c')).toMatchObject({ replayed: true });
    // Another key has its own sum, and an economist has no limit.
    expect(await second.adjust(1000, 'e')).toMatchObject({ balanceAfterCoins: 6500 });
    const economist = await makeServerKey(second.here, ['admin'], { role: 'economist' });
    for (const key of ['f', 'g', 'h']) expect((await second.by(economist.token)(1000, key)).error).toBeUndefined();
    second.here.advance(86_400_000);
    expect((await restarted(1000, 'i')).error).toBeUndefined();
  });

  test('sent at once are bounded too', async () => {
    await using one = await desk();
    const replies = await Promise.all(Array.from({ length: 40 }, (_, index) => one.adjust(100, `k${index}`)));
    expect(replies.filter(({ error }) => error === undefined)).toHaveLength(25);
    expect(replies.filter(({ error }) => error?.code === 'forbidden')).toHaveLength(15);
  });
});

test('a read at the private data of players in a room needs support', async () => {
  const fields = { code: 'BCDFG', private: 'true', reason };
  expect((await ask('rooms show', fields, 'viewer')).body.error).toMatchObject({ code: 'forbidden', role: 'support' });
  expect((await ask('rooms show', fields, 'support')).body.error.code).toBe('room_not_found');
});

test('the record of a key with a role gives no operator access in a build without roles, and a rotated key keeps its role', async () => {
  const { id } = await makeServerKey(service, ['admin', 'coins'], { role: 'support' });
  const text = (await service.service.redis.hget(SERVER_KEYS, id))!;
  expect(JSON.parse(text).scopes).toEqual(['admin:support', 'coins']);
  const of = (scopes: string[]) => parseServerKey(JSON.stringify({ ...JSON.parse(text), scopes }));
  expect(of(['admin'])).toMatchObject({ scopes: ['admin'], role: 'admin' });
  // A role of a later version gives no rights here.
  expect(of(['admin:owner'])).toMatchObject({ scopes: [], role: undefined });
  const heir = await keyChangesOf(service).rotate(id, service.now() + 60_000, undefined);
  expect(await keyChangesOf(service).find(heir.id)).toMatchObject({ scopes: ['coins', 'admin'], role: 'support' });
});

describe('a key of one game', () => {
  const other = freshId('other').toLowerCase();
  /** Every other endpoint that a server key may call, with a request. */
  const called: Record<string, [reach: Reach | undefined, fields?: Record<string, unknown>]> = {
    'POST /v1/coins/credit': ['accounts', { accountId: nobody, coins: 1, key: 'a' }],
    'POST /v1/coins/purchase': ['accounts', { accountId: nobody, coins: 1, key: 'b' }],
    'POST /v1/coins/debit': ['accounts', { accountId: nobody, coins: 1, key: 'c' }],
    'GET /v1/balance': ['accounts', { accountId: nobody }],
    'GET /v1/coins/history': ['accounts', { accountId: nobody }],
    'POST /v1/sessions/verify': ['accounts', { sessionToken: 'a.b.c' }],
    'POST /v1/highscores/{game}': ['game', { game, accountId: nobody, score: 1, name: 'Ada' }],
    'GET /v1/highscores/{game}/around': ['game', { game, accountId: nobody }],
    'GET /v1/saves/{game}': ['game', { game, accountId: nobody }],
    'GET /v1/saves/{game}/{name}': ['game', { game, name: 'slot-1', accountId: nobody }],
    'POST /v1/saves/{game}/{name}': ['game', { game, name: 'slot-1', accountId: nobody, data: 1 }],
    'POST /v1/saves/{game}/{name}/delete': ['game', { game, name: 'slot-1', accountId: nobody }],
    'POST /v1/rooms': ['own', { game, seatless: true }],
    'POST /v1/rooms/{code}/{action}': ['room', { code: 'BCDFG', action: 'lock' }],
    'POST /v1/rooms/{code}/ticket/verify': ['room', { code: 'BCDFG', ticket: 'a.b.c' }],
    'GET /v1/events': [undefined],
    'POST /console/session': ['own'],
    'GET /console/session': ['own'],
    'POST /console/session/confirm': ['own'],
    'POST /console/session/end': ['own'],
    'POST /console/ask': ['own', { operation: 'boards reset', input: { game, reason } }],
    'GET /console/figures': [undefined],
    'GET /console/keys': [undefined],
    'GET /console/operators': [undefined],
    'GET /console/requests': [undefined],
    'POST /console/requests': [undefined, { operation: 'accounts adjust', input: {}, reason }],
    'POST /console/requests/{id}/approve': [undefined, { id: `${'a'.repeat(16)}.${'b'.repeat(8)}`, reason }],
    'POST /console/requests/{id}/refuse': [undefined, { id: `${'a'.repeat(16)}.${'b'.repeat(8)}`, reason }],
    'POST /console/keys': [undefined, { name: 'x', scopes: ['coins'], expiresInDays: 1, reason }],
    'POST /console/keys/{id}/rotate': [undefined, { id: 'nosuch00', expiresInDays: 1, reason }],
    'POST /console/keys/{id}/revoke': [undefined, { id: 'nosuch00', reason }],
  };
  const table = { ...called };
  for (const [name, [, fields, reach]] of Object.entries(asked)) table[routes.get(name)!] = [reach, fields];

  const call = (route: string, fields: Record<string, unknown>) => send(route, fields, ofGame);

  test('has a row for each endpoint that takes a key', () => {
    const declared = [...api, ...operatorApi, ...consoleApi()].filter(({ keyScope }) => keyScope !== undefined);
    expect(declared.map(nameOf).toSorted()).toEqual(Object.keys(table).toSorted());
  });

  test.each(Object.entries(table))('%s', async (route, [reach, fields = {}]) => {
    const isForbidden = ({ body }: TestReply): boolean => body.error?.code === 'forbidden';
    const reply = await call(route, fields);
    expect([isForbidden(reply), reply.status]).toEqual(
      reach === undefined ? [true, 403] : [false, expect.toBeOneOf([200, 400, 401, 403, 404, 409])],
    );
    // A field of another game, wherever it stands, and also where it does not belong.
    if ('game' in fields || reach === undefined) expect(isForbidden(await call(route, { ...fields, game: other }))).toBe(true);
    if (reach === undefined) expect(isForbidden(await call(route, { ...fields, game }))).toBe(true);
    if (reach !== 'room') return;
    const room = (await service.post('/v1/rooms', { installId: freshId(), game: other })).body.room;
    expect([route, (await call(route, { ...fields, code: room.code })).status]).toEqual([route, expect.toBeOneOf([401, 403])]);
    expect((await service.get(`/v1/rooms/${room.code}`)).body.room).toEqual(room);
  });

  test('is asked no question about other games, and none about what it does not reach', async () => {
    for (const { name, method, input } of operations) {
      if (method !== 'POST' || !('reason' in input.shape)) continue;
      const [, fields = {}, reach] = asked[name]!;
      const codeOf = async (of: object) => (await call('POST /console/ask', { operation: name, input: of })).body.error?.code;
      expect([name, (await codeOf(fields)) === 'forbidden']).toEqual([name, reach === undefined]);
      if (reach === 'game') expect([name, await codeOf({ ...fields, game: other })]).toEqual([name, 'forbidden']);
    }
  });

  test('finds players and rooms of its game, and nothing else', async () => {
    const installs = { own: freshId(), other: freshId() };
    const names = { own: freshId('n').slice(0, 20), other: freshId('o').slice(0, 20) };
    for (const [board, installId, name] of [
      [game, installs.own, names.own],
      [other, installs.other, names.other],
    ] as const)
      expect((await service.post(`/v1/highscores/${board}`, { installId, score: 1, name })).status).toBe(200);
    const [ownRoom, otherRoom] = await Promise.all(
      [game, other].map(async (of) => (await service.post('/v1/rooms', { installId: installs.own, game: of })).body.room.code as string),
    );
    const accountId = accountIdOf(installs.own);
    const { playerId } = (await service.get(`/v1/highscores/${game}`)).body.top[0];
    const found = (who: string, more = {}) => call('POST /v1/admin/find', { who, game, ...more });
    for (const [who, foundBy] of [
      [names.own, 'name'],
      [`name:${names.own}`, 'name'],
      [playerId, 'player'],
      [`player:${playerId}`, 'player'],
    ])
      expect((await found(who)).body.accounts).toEqual([{ accountId, foundBy, via: expect.objectContaining({ game, playerId }) }]);
    expect((await found(`room:${ownRoom}`)).body).toEqual({
      ok: true,
      accounts: [{ accountId, foundBy: 'room', via: { room: ownRoom } }],
      rooms: [{ code: ownRoom }],
    });
    for (const who of [installs.own, accountId, names.other, `name:${names.other}`, otherRoom!, `room:${otherRoom}`, 'test'])
      expect([who, (await found(who)).body.error?.code]).toEqual([who, 'account_not_found']);
    for (const prefix of ['account', 'install', 'google', 'order', 'purchase', 'key'])
      expect([prefix, (await found(`${prefix}:${prefix === 'account' ? accountId : installs.own}`)).status]).toEqual([prefix, 403]);
    expect((await found(names.other, { cursor: `${other}@0` })).status).toBe(404);
    // An operation on a board takes nothing of other games for a player either.
    const removed = (player: string) => call('POST /v1/admin/boards/{game}/remove', { game, player, reason });
    for (const player of [installs.own, `install:${installs.own}`, `room:${otherRoom}`, 'order:GPA.0000-0000'])
      expect([player, (await removed(player)).status]).toEqual([player, 403]);
    expect((await removed(accountId)).body.removed).toMatchObject({ accountId, name: names.own });
  });
});
