import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { openCoinShop, type CoinShop } from '../features/purchases/store.ts';
import { freshId } from '../harness.ts';
import { makeServerKey } from '../server-keys.ts';

/** `accounts find` by every kind of name that a user may give. */

let shop: CoinShop;
const keys = { viewer: '', admin: '' };
beforeAll(async () => {
  shop = await openCoinShop({ settings: { ADMIN_API: 'on' } });
  for (const role of ['viewer', 'admin'] as const) keys[role] = (await makeServerKey(shop.service, ['admin'], { role })).token;
});
afterAll(() => shop[Symbol.asyncDispose]());

const find = async (who: string, more: object = {}, role: 'viewer' | 'admin' = 'viewer') =>
  (await shop.service.post('/v1/admin/find', { who, ...more }, { bearer: keys[role] })).body;

async function player(name: string, game: string): Promise<{ installId: string; accountId: string; playerId: string }> {
  const installId = freshId();
  const reply = await shop.service.post(`/v1/highscores/${game}`, { installId, score: Math.random() * 1000, name });
  const { playerId } = reply.body.top.find((entry: { name: string }) => entry.name === name) ?? {};
  return { installId, accountId: accountIdOf(installId), playerId };
}

describe('a purchase of coins', () => {
  test('leads to its owner by its order number, its id and its token, without a prefix', async () => {
    const installId = freshId();
    const accountId = accountIdOf(installId);
    const { purchaseToken, orderId } = await shop.issue({});
    const { purchaseId } = (await shop.buy(installId, purchaseToken)).body.purchase;
    const purchases = [{ purchase: purchaseId, kind: 'coins', accountId }];
    for (const [text, foundBy] of [
      [orderId, 'order'],
      [purchaseId, 'purchase'],
      [purchaseToken, 'purchase'],
      [`order:${orderId}`, 'order'],
      [`purchase:${purchaseToken}`, 'purchase'],
    ] as const) {
      const { accounts, purchases: found } = await find(text);
      expect([text, accounts, found]).toMatchObject([text, [{ accountId, foundBy, via: { purchase: purchaseId } }], purchases]);
    }
    expect(JSON.stringify(await find(purchaseToken))).not.toContain(purchaseToken);
  });

  test('of a deleted account is found, and has no owner', async () => {
    const installId = freshId();
    const { purchaseToken } = await shop.issue({});
    const { purchaseId } = (await shop.buy(installId, purchaseToken)).body.purchase;
    await shop.service.post(`/v1/admin/accounts/${accountIdOf(installId)}/delete`, { reason: 'test' }, { bearer: keys.admin });
    const reply = await find(purchaseId);
    expect(reply).toEqual({ ok: true, accounts: [], purchases: [{ purchase: purchaseId, kind: 'coins' }] });
  });
});

describe('a name', () => {
  test('is found in any spelling: first equal names, then names that begin with the text, then names that contain it', async () => {
    const game = freshId('game').toLowerCase();
    const [holds, begins, same] = [await player('The Zoë', game), await player('Zoë 99', game), await player('ZOE', game)];
    await player('Ada', game);
    const { accounts, nextCursor } = await find('zoé', { game });
    expect(accounts.map(({ accountId }: { accountId: string }) => accountId)).toEqual([same, begins, holds].map((each) => each.accountId));
    expect(accounts[1]).toMatchObject({ foundBy: 'name', via: { game, playerId: begins.playerId, name: 'Zoë 99' } });
    expect(nextCursor).toBeUndefined();
    expect((await find('name:nobody has this', { game })).error.code).toBe('account_not_found');
  });

  test('of a banned player is found too, and a playerId leads to the account', async () => {
    const game = freshId('game').toLowerCase();
    const { accountId, playerId } = await player('Mallory', game);
    await shop.service.post(`/v1/admin/accounts/${accountId}/ban`, { reason: 'test' }, { bearer: keys.admin });
    expect((await find('mallory', { game })).accounts).toMatchObject([{ accountId, foundBy: 'name' }]);
    expect((await find(playerId, { game })).accounts).toMatchObject([{ accountId, foundBy: 'player', via: { game, playerId } }]);
  });

  test('is searched on the boards of the catalogue if no game is named', async () => {
    const name = freshId('n').slice(0, 20);
    const { accountId } = await player(name, 'pebble-drop');
    let cursor: string | undefined;
    const found: object[] = [];
    do {
      const reply = await find(`name:${name}`, cursor === undefined ? {} : { cursor });
      found.push(...(reply.accounts ?? []));
      cursor = reply.nextCursor;
    } while (cursor !== undefined);
    expect(found).toMatchObject([{ accountId, foundBy: 'name', via: { game: 'pebble-drop', name } }]);
  });

  test('on a board of 30,000 is searched in parts', async () => {
    const game = freshId('game').toLowerCase();
    const text = (index: number): string => `${accountIdOf(`${game}${index}`)}!!!!!!!Player ${index}`;
    for (let from = 0; from < 30_000; from += 5000) {
      const fields = Array.from({ length: 5000 }, (_, index) => [`p${String(from + index).padStart(9, '0')}`, text(from + index)]).flat();
      await shop.redis.hset(`{board:${game}}:players`, ...fields);
    }
    const parts: { accounts?: object[] }[] = [];
    let cursor: string | undefined;
    do {
      parts.push(await find('name:player 29999', { game, ...(cursor === undefined ? {} : { cursor }) }));
      cursor = (parts.at(-1) as { nextCursor?: string }).nextCursor;
    } while (cursor !== undefined);
    expect(parts.length).toBeGreaterThan(1);
    // These accounts do not exist, so the result is empty. But the search itself ended.
    expect(parts.flatMap(({ accounts = [] }) => accounts)).toEqual([]);
    await shop.redis.del(`{board:${game}}:players`);
  });
});

test('a room leads to its seats, with and without a prefix', async () => {
  const installId = freshId();
  const { code } = (await shop.service.post('/v1/rooms', { installId })).body.room;
  for (const text of [code, code.toLowerCase(), `room:${code}`, `${code.slice(0, 2)}-${code.slice(2)}`])
    expect(await find(text)).toMatchObject({
      rooms: [{ code }],
      accounts: [{ accountId: accountIdOf(installId), foundBy: 'room', via: { room: code } }],
    });
});

test('only the role admin finds server keys', async () => {
  const name = freshId('backend');
  const { id } = await makeServerKey(shop.service, ['coins'], { name });
  const found = [{ id, name, state: 'valid' }];
  expect((await find(name, {}, 'admin')).keys).toEqual(found);
  expect((await find(`key:${id}`, {}, 'admin')).keys).toEqual(found);
  expect((await find(name)).error.code).toBe('account_not_found');
});

test('the work of a search is bounded for the worst text', async () => {
  for (const who of ['x'.repeat(1000), '\u0301'.repeat(64), 'name:\u{fdfa}'.repeat(12), `install:${'x'.repeat(900)}`])
    expect((await find(who)).error.code).toBe('account_not_found');
  expect((await find('x'.repeat(1001))).error.code).toBe('invalid_request');
  expect((await find('two\nlines')).error.code).toBe('invalid_request');
  expect((await find('name:x', { cursor: 'nowhere' })).error.code).toBe('invalid_request');
});
