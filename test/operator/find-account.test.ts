import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { openCoinShop } from '../features/purchases/coins/store.ts';
import { forFile, freshId } from '../harness.ts';
import { makeServerKey } from '../server-keys.ts';
import { deskOf } from './parts.ts';

/** `accounts find` by every kind of name that a user may give. */

const shop = await forFile(openCoinShop({ settings: { ADMIN_API: 'on' } }));
const [viewer, admin] = [await deskOf(shop.service, 'viewer'), await deskOf(shop.service)];

const find = async (who: string, more: object = {}, desk = viewer) => (await desk.change('/find', { who, ...more })).body;
const freshGame = () => freshId('game').toLowerCase();

/** The replies of all parts of a search. */
async function findAll(who: string, more: object = {}) {
  const parts = [await find(who, more)];
  for (let cursor; (cursor = parts.at(-1).nextCursor) !== undefined;) parts.push(await find(who, { ...more, cursor }));
  return { parts: parts.length, accounts: parts.flatMap(({ accounts = [] }) => accounts) };
}

async function bought() {
  const installId = freshId();
  const { purchaseToken, orderId } = await shop.issue({});
  const { purchaseId } = (await shop.buy(installId, purchaseToken)).body.purchase;
  return { accountId: accountIdOf(installId), purchaseToken, orderId, purchaseId };
}

async function player(name: string, game: string): Promise<{ accountId: string; playerId: string }> {
  const installId = freshId();
  const { top } = (await shop.service.post(`/v1/highscores/${game}`, { installId, score: Math.random() * 1000, name })).body;
  return { accountId: accountIdOf(installId), playerId: top.find((entry: { name: string }) => entry.name === name)?.playerId };
}

test('an account that cannot be read hides no other with the same name, and names the audit', async () => {
  const [game, name] = [freshGame(), freshId('twin')];
  const [broken, other] = [await player(name, game), await player(name, game)];
  await shop.service.service.redis.hset(`{${broken.accountId}}:moves`, 'a', 'b');
  const { accounts } = await findAll(name, { game });
  expect(accounts).toContainEqual({
    ...{ accountId: broken.accountId, foundBy: 'name', via: expect.any(Object) },
    problem: expect.stringContaining('npm run audit'),
  });
  expect(accounts).toContainEqual(expect.objectContaining({ accountId: other.accountId, kind: 'guest' }));
  await shop.service.service.redis.del(`{${broken.accountId}}:moves`);
});

describe('a purchase of coins', () => {
  test('leads to its owner by its order number, its id and its token, with and without a prefix', async () => {
    const { accountId, purchaseToken, orderId, purchaseId } = await bought();
    for (const [text, foundBy] of [
      [orderId, 'order'],
      [purchaseId, 'purchase'],
      [purchaseToken, 'purchase'],
      [`order:${orderId}`, 'order'],
      [`purchase:${purchaseToken}`, 'purchase'],
    ] as const) {
      const reply = await find(text);
      const accounts = [{ accountId, foundBy, via: { purchase: purchaseId } }];
      expect([text, reply]).toMatchObject([text, { accounts, purchases: [{ purchase: purchaseId, kind: 'coins', accountId }] }]);
      expect(JSON.stringify(reply)).not.toContain(purchaseToken);
    }
  });

  test('of a deleted account is found, and has no owner', async () => {
    const { accountId, purchaseId } = await bought();
    await admin.change(`/accounts/${accountId}/delete`);
    expect(await find(purchaseId)).toEqual({ ok: true, accounts: [], purchases: [{ purchase: purchaseId, kind: 'coins' }] });
  });
});

describe('a name', () => {
  test('is found in any spelling: first equal names, then names that begin with the text, then names that contain it', async () => {
    const game = freshGame();
    const [holds, begins, same] = [await player('The Zoë', game), await player('Zoë 99', game), await player('ZOE', game)];
    await player('Ada', game);
    const { accounts, nextCursor } = await find('zoé', { game });
    expect(accounts.map(({ accountId }: { accountId: string }) => accountId)).toEqual([same, begins, holds].map((each) => each.accountId));
    expect(accounts[1]).toMatchObject({ foundBy: 'name', via: { game, playerId: begins.playerId, name: 'Zoë 99' } });
    expect(nextCursor).toBeUndefined();
    expect((await find('name:nobody has this', { game })).error.code).toBe('account_not_found');
  });

  test('of a banned player is found too, and a playerId leads to the account', async () => {
    const game = freshGame();
    const { accountId, playerId } = await player('Mallory', game);
    await admin.change(`/accounts/${accountId}/ban`);
    expect((await find('mallory', { game })).accounts).toMatchObject([{ accountId, foundBy: 'name' }]);
    expect((await find(playerId, { game })).accounts).toMatchObject([{ accountId, foundBy: 'player', via: { game, playerId } }]);
  });

  test('is searched on the boards of the catalogue if no game is named', async () => {
    const name = freshId('n').slice(0, 20);
    const { accountId } = await player(name, 'pebble-drop');
    const { accounts } = await findAll(`name:${name}`);
    expect(accounts).toMatchObject([{ accountId, foundBy: 'name', via: { game: 'pebble-drop', name } }]);
  });

  test('on a board of 30,000 is searched in parts', async () => {
    const game = freshGame();
    const text = (index: number): string => `${accountIdOf(`${game}${index}`)}!!!!!!!Player ${index}`;
    for (let from = 0; from < 30_000; from += 5000) {
      const fields = Array.from({ length: 5000 }, (_, index) => [`p${String(from + index).padStart(9, '0')}`, text(from + index)]).flat();
      await shop.redis.hset(`{board:${game}}:players`, ...fields);
    }
    const { parts, accounts } = await findAll('name:player 29999', { game });
    // These accounts do not exist, so the result is empty. But the search itself ended.
    expect([parts > 1, accounts]).toEqual([true, []]);
    await shop.redis.del(`{board:${game}}:players`);
  });
});

test('a room leads to its seats, with and without a prefix', async () => {
  const installId = freshId();
  const { code } = (await shop.service.post('/v1/rooms', { installId })).body.room;
  for (const text of [code, code.toLowerCase(), `room:${code}`, `room:${code.toLowerCase()}`, `${code.slice(0, 2)}-${code.slice(2)}`])
    expect(await find(text)).toMatchObject({
      rooms: [{ code }],
      accounts: [{ accountId: accountIdOf(installId), foundBy: 'room', kind: 'guest', via: { room: code } }],
    });
});

test('only the role admin finds server keys', async () => {
  const name = freshId('backend');
  const { id } = await makeServerKey(shop.service, ['coins'], { name });
  for (const text of [name, `key:${id}`]) expect((await find(text, {}, admin)).keys).toEqual([{ id, name, state: 'valid' }]);
  expect((await find(name)).error.code).toBe('account_not_found');
});

test.each([
  ...['room:BBBBB', 'room:no-room', 'order:GPA.0000', 'order:a/b'].map((who) => [who, 'account_not_found']),
  // The work of a search is bounded for the worst text.
  ...['x'.repeat(1000), '\u0301'.repeat(64), 'name:\u{fdfa}'.repeat(12), `install:${'x'.repeat(900)}`].map((who) => [
    who,
    'account_not_found',
  ]),
  ...['x'.repeat(1001), 'two\nlines'].map((who) => [who, 'invalid_request']),
])('the search for %j ends with %s', async (who, code) => {
  expect((await find(who!)).error.code).toBe(code);
});

test('a search does not go on from a cursor that no reply had', async () => {
  expect((await find('name:x', { cursor: 'nowhere' })).error.code).toBe('invalid_request');
});
