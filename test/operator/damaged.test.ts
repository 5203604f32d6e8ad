import { expect, test } from 'vitest';
import { kindOf, retype } from '../consistency/damages/kinds.ts';
import { accountWith, bought, boughtCoins, moved, paired, useData } from '../consistency/damages/data.ts';
import { orderKey } from '../../src/features/purchases/coins/find-purchase.ts';
import { eventKeys } from '../../src/features/events/model.ts';
import { hookKeys } from '../../src/features/webhooks/model.ts';
import { operations } from '../../src/operator/endpoints.ts';
import { isChange } from '../../src/operator/operation.ts';
import { OPERATOR_LOG } from '../../src/operator/operator-log.ts';
import { forFile, freshId, type TestReply } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { sized } from '../sized.ts';
import { appOf, catalogueFile } from '../features/highscores/catalogue-of.ts';
import { seasonKeys } from '../../src/features/highscores/model.ts';
import { eventually } from '../realtime/watcher.ts';
import { openDesk } from './parts.ts';

/**
 * Damaged data hides nothing else. One thing of several is damaged in many ways, and every read of operators goes on: lists have the other
 * things, and the damaged thing's own reads show the rest of it, and name what is damaged.
 */

/** In short, each key is damaged by a wrong type and in two more ways. */
const DAMAGES_A_KEY = sized(3, 1000);

const GAME = 'pebble-drop';
const RESET = 'word-weave';
const EARLIER = '2026-W01';
const own = await forFile(startRedis());
const { redis } = own;
const APPS = [appOf(GAME, { season: { period: 'weekly', prizes: [{ upTo: 1, coins: 5 }] } }), appOf(RESET)];
const PRODUCTS = [{ productId: 'coins-500', coins: 500, name: 'Coins', stores: { google: 'coins_500' } }];
const CATALOGUE_FILE = catalogueFile(JSON.stringify({ apps: APPS, products: PRODUCTS }));
const desk = await forFile(
  openDesk({ redis: own.location, settings: { ADMIN_API: 'on', EVENTS: 'on', WEBHOOKS_PRIVATE: 'on', CATALOGUE_FILE } }),
);
const { service, read, change, bearer } = desk;
useData(service, redis);

/** A thing of each kind, and another one that stays whole. */
const of = await make();

async function make() {
  const [installId, otherInstall] = [freshId(), freshId()];
  const [id, other] = [await accountWith([50, 6, -3], installId), await accountWith([7], otherInstall)];
  await bought(installId);
  const coins = await boughtCoins('purchased', installId);
  const [pending, otherPending] = [await boughtCoins('pending', installId), await boughtCoins('pending', otherInstall)];
  for (const score of [55, 11]) {
    const player = score === 55 ? installId : otherInstall;
    await service.post(`/v1/highscores/${GAME}`, { installId: player, score, name: 'Ada' });
    await service.post(`/v1/highscores/${RESET}`, { installId: player, score, name: 'Ada' });
  }
  await change(`/boards/${RESET}/reset`);
  await service.post(`/v1/highscores/${RESET}`, { installId: otherInstall, score: 11, name: 'Ada' });
  const { code } = (await service.post('/v1/rooms', { installId, tags: { mode: 'duel' } })).body.room;
  await service.post(`/v1/rooms/${code}/join`, { installId: otherInstall });
  await service.post(`/v1/rooms/${code}/private`, { installId, seats: { p2: ['hearts-7'] } });
  const otherRoom = (await service.post('/v1/rooms', { installId })).body.room.code;
  for (const slot of ['slot-1', 'slot-2']) await service.post(`/v1/saves/${GAME}/${slot}`, { installId, data: { a: 1 } });
  await service.post('/v1/pair/new', {}).then(({ body: { token } }) => service.post('/v1/pair/claim', { token, installId }));
  for (const text of ['called', 'called again']) await change(`/accounts/${id}/note`, { text });
  await change(`/accounts/${id}/rename`, { name: 'Ada' });
  await change(`/accounts/${id}/give`, { until: new Date(service.now() + 86_400_000).toISOString() });
  await change(`/accounts/${id}/ban`, { until: new Date(service.now() + 86_400_000).toISOString() });
  const hooks = [
    await change('/webhooks', { url: 'http://127.0.0.1:1025/' }),
    await change('/webhooks', { url: 'http://127.0.0.1:1025/b' }),
  ];
  expect(hooks.map(({ body }) => body.error)).toEqual([undefined, undefined]);
  const [hook, otherHook] = hooks.map(({ body }) => body.id as string);
  await paired();
  const { target, guest } = await moved((guestInstall) => accountWith([5, 6], guestInstall));
  const [unowned, otherUnowned] = [await unownedSubscription(), await unownedSubscription()];
  const [season] = (await redis.zrange(seasonKeys.seasons(GAME), '0', '-1')) as [string];
  await redis.copy(`{board:${GAME}}:season:${season}`, `{board:${GAME}}:season:${EARLIER}`);
  await redis.zadd(seasonKeys.seasons(GAME), 0, EARLIER);
  await eventually(async () => (await redis.llen(hookKeys.failed(hook!))) > 0);
  const orderId = (await redis.hget(coins.record, 'orderId'))!;
  return {
    ...{ id, other, code, otherRoom, hook: hook!, otherHook: otherHook!, season, target, guest, unowned, otherUnowned, orderId },
    ...{ coins: coins.purchaseId, pending: pending.purchaseId, otherPending: otherPending.purchaseId },
  };
}

/** A subscription of which a notification told, and that nobody owns. */
async function unownedSubscription(): Promise<string> {
  const { hash } = await bought();
  await redis.hset(`{purchase:${hash}}`, { owner: '', noticedAt: service.now() });
  await redis.zadd('purchases:unowned', service.now() + 86_400_000, hash);
  return hash;
}

const until = new Date(service.now() + 86_400_000).toISOString();
/** The routes that were asked. */
const sent: string[] = [];

function get(path: string): Promise<TestReply> {
  sent.push(`GET /v1/admin${path.split('?')[0]!}`);
  return read(path);
}

function find(who: string): Promise<TestReply> {
  sent.push('POST /v1/admin/find');
  return service.post('/v1/admin/find', { who }, { bearer });
}

/** Every read, with the other things that its reply has in any case. */
const reads: Record<string, [ask: () => Promise<TestReply>, others?: readonly string[]]> = {
  account: [() => get(`/accounts/${of.id}?at=${until}`)],
  'account with a guest': [() => get(`/accounts/${of.guest}`)],
  history: [() => get(`/accounts/${of.id}/history`)],
  'search in a history': [() => get(`/accounts/${of.id}/history?type=credit&to=${until}`)],
  'history with a guest': [() => get(`/accounts/${of.target}/history`)],
  explanation: [() => get(`/accounts/${of.id}/explain`)],
  events: [() => get(`/accounts/${of.id}/events`)],
  timeline: [() => get(`/accounts/${of.id}/timeline`)],
  accounts: [() => get('/accounts'), [of.other, of.target]],
  'stuck purchases': [() => get('/purchases'), [of.otherPending, of.otherUnowned]],
  purchase: [() => get(`/purchases/${of.coins}`)],
  'purchase by its order': [() => get(`/purchases/${of.orderId}`)],
  board: [() => get(`/boards/${GAME}?season=all`), ['"score":11']],
  'board of a season': [() => get(`/boards/${GAME}`), ['"score":11']],
  archive: [() => get(`/boards/${RESET}?archive=1`), ['"score":11']],
  seasons: [() => get(`/boards/${GAME}/seasons`), [EARLIER]],
  rooms: [() => get('/rooms'), [of.otherRoom]],
  room: [() => get(`/rooms/${of.code}`)],
  'private parts of a room': [() => get(`/rooms/${of.code}?private=true&reason=test`)],
  webhooks: [() => get('/webhooks'), [of.otherHook]],
  webhook: [() => get(`/webhooks/${of.hook}`)],
  deliveries: [() => get(`/webhooks/${of.hook}/deliveries`)],
  log: [() => get('/log?action=accounts'), ['accounts rename']],
  'log of an account': [() => get(`/log?account=${of.id}`)],
  'export of the log': [() => get('/log/export?action=accounts'), ['accounts rename']],
  todo: [() => get('/todo')],
  numbers: [() => get('/numbers')],
  'export of numbers': [() => get('/numbers/export')],
  'accounts with the highest balances': [() => get('/numbers/top?by=balance'), [of.other]],
  'accounts that grew most': [() => get('/numbers/top?by=growth'), [of.other]],
  'accounts that spent most': [() => get('/numbers/top?by=spent')],
  'find a name': [() => find('name:Ada'), [of.other]],
  'find a room': [() => find(`room:${of.code}`)],
  'find an order': [() => find(`order:${of.orderId}`)],
  'find a purchase': [() => find(of.coins)],
  'find an account': [() => find(of.id)],
};

interface Row {
  readonly named: readonly string[];
  readonly all?: readonly string[];
  readonly gone?: readonly string[];
}

/**
 * A key that is damaged, the reads that name the damage if the whole key is damaged, the reads that cannot show the others then, and the
 * reads for which an entry that is gone does not exist.
 */
const damaged: Record<string, Row & { readonly key: string }> = {
  'an account': { key: `{${of.id}}:account`, named: ['account', 'history', 'timeline', 'explanation', 'events'] },
  'a standing': { key: `{${of.id}}:moves`, named: ['account', 'history', 'timeline', 'explanation', 'events'] },
  'the standing of an account with guests': { key: `{${of.target}}:moves`, named: ['account with a guest', 'history with a guest'] },
  'a ledger': { key: `{${of.id}}:ledger`, named: ['account', 'history', 'timeline', 'explanation', 'log of an account'] },
  sessions: { key: `{${of.id}}:sessions`, named: ['account', 'timeline'] },
  notes: { key: `{${of.id}}:notes`, named: ['account', 'timeline'] },
  'a list of boards': { key: `{${of.id}}:boards`, named: ['account', 'timeline'] },
  'a list of purchases of coins': { key: `{${of.id}}:product-purchases`, named: ['account', 'timeline'] },
  'a list of subscriptions': { key: `{${of.id}}:purchases`, named: ['account', 'timeline'] },
  saves: { key: `{${of.id}}:saves`, named: ['account', 'timeline'] },
  'a purchase of coins': { key: `{product-purchase:${of.coins}}`, named: ['account', 'purchase', 'find a purchase', 'find an order'] },
  'a pending purchase': { key: `{product-purchase:${of.pending}}`, named: ['account', 'stuck purchases'] },
  'a subscription without an owner': { key: `{purchase:${of.unowned}}`, named: ['stuck purchases'] },
  'an order': {
    key: orderKey(of.orderId),
    named: ['purchase by its order', 'find an order'],
    gone: ['purchase by its order', 'find an order'],
  },
  'a queue of purchases': { key: 'product-purchases:due', named: ['stuck purchases'], all: ['stuck purchases'] },
  'a board': { key: `{board:${GAME}}:scores`, named: ['board'], all: ['board'] },
  'the players of a board': { key: `{board:${GAME}}:players`, named: ['board', 'find a name'] },
  'the archives of a board': { key: `{board:${RESET}}:archives`, named: ['archive'], gone: ['archive'] },
  'a season': { key: `{board:${GAME}}:season:${of.season}`, named: ['seasons', 'board of a season'], all: ['board of a season'] },
  'scores of a season': {
    key: `{board:${GAME}}:season:${of.season}:scores`,
    named: ['seasons', 'board of a season'],
    all: ['board of a season'],
  },
  'a room': {
    key: `{room:${of.code}}`,
    named: ['account', 'room', 'private parts of a room', 'find a room'],
    gone: ['room', 'private parts of a room', 'find a room'],
  },
  'connections of a room': { key: `{room:${of.code}}:leases`, named: [] },
  'a webhook': { key: `${hookKeys.hooks}:state:${of.hook}`, named: ['webhooks', 'webhook'] },
  'all webhooks': { key: hookKeys.hooks, named: ['webhooks', 'webhook'], all: ['webhooks'], gone: ['webhook', 'deliveries'] },
  'attempts of a webhook': { key: hookKeys.failed(of.hook), named: ['webhooks', 'webhook', 'deliveries'] },
  'the log of operators': {
    key: OPERATOR_LOG,
    named: ['log', 'export of the log', 'timeline'],
    all: ['log', 'export of the log', 'private parts of a room'],
  },
  'a chunk of events': { key: eventKeys.chunk(0), named: ['events', 'timeline'] },
};

/** A text as another program, a wrong command or a broken disk may leave it. */
const broken = (text: string): string[] => [
  'nonsense',
  text.replaceAll(/\d+/g, '9'.repeat(20)),
  '',
  text.replaceAll(/\d+/g, '1e400'),
  text.replaceAll(/\d+/g, '-1'),
  text.slice(0, -3),
  '[1]',
  'null',
];

/** Ways to damage a part of a key. */
async function* damagesOf(key: string): AsyncGenerator<[how: string, damage: () => Promise<unknown>]> {
  const type = await redis.type(key);
  if (type === 'string') for (const text of broken((await redis.get(key))!)) yield [text, () => redis.set(key, text, 'KEEPTTL')];
  if (type === 'hash')
    for (const [field, text] of Object.entries(await redis.hgetall(key))) {
      for (const value of broken(text)) yield [`${field} ${value}`, () => redis.hset(key, field, value)];
      yield [`no ${field}`, () => redis.hdel(key, field)];
    }
  if (type === 'list')
    for (const [index, text] of (await redis.lrange(key, -3, -1)).entries())
      for (const value of broken(text)) yield [`${index} ${value}`, () => redis.lset(key, -1 - index, value)];
  if (type === 'set') yield ['a strange member', () => redis.sadd(key, 'nonsense', '')];
  if (type === 'zset') {
    yield ['strange members', () => redis.zadd(key, '1', 'nonsense', '-inf', 'x', '1e300', 'y')];
    const members = await redis.zrange(key, '0', '0');
    for (const score of ['inf', '-inf', '1e300', '-5', '0.5']) yield [score, () => redis.zadd(key, score, members[0]!)];
  }
}

async function expectReads(how: string, { named, all = [], gone = [] }: Row) {
  for (const [name, [ask, others = []]] of Object.entries(reads)) {
    const { status, body } = await ask();
    // A log that cannot be written refuses a read that it has to record.
    if (all.includes(name) && status !== 200) continue;
    if (gone.includes(name) && status === 404) continue;
    expect([how, name, status, body.error]).toEqual([how, name, 200, undefined]);
    if (!all.includes(name))
      for (const other of others) expect([how, name, JSON.stringify(body)]).toEqual([how, name, expect.stringContaining(other)]);
    if (named.includes(name)) expect([how, name, body.unreadable]).toEqual([how, name, expect.arrayContaining([expect.any(String)])]);
  }
}

test('every read of operators is in the table', async () => {
  for (const [ask] of Object.values(reads)) await ask();
  const isSent = (route: string): boolean => {
    const form = new RegExp(`^${route.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    return sent.some((each) => form.test(each));
  };
  const declared = operations.filter((operation) => !isChange(operation)).map(({ method, path }) => `${method} ${path}`);
  expect(declared.filter((route) => !isSent(route))).toEqual([]);
});

test('without damage, no read leaves anything out', async () => {
  for (const [name, [ask, others = []]] of Object.entries(reads)) {
    const { status, body } = await ask();
    expect([name, status, body.unreadable]).toEqual([name, 200, undefined]);
    for (const other of others) expect([name, JSON.stringify(body)]).toEqual([name, expect.stringContaining(other)]);
  }
});

test.each(Object.entries(damaged))('%s that is damaged hides nothing else, and is named', { timeout: 600_000 }, async (_, row) => {
  const { key } = row;
  const kind = kindOf(key)!;
  const before = await redis.dumpBuffer(key);
  const ttlMs = Math.max(0, await redis.pttl(key));
  const undo = await retype(redis, key, kind);
  await expectReads('another type', row).finally(undo);
  if ((before as Buffer | null) === null) return;
  let count = 1;
  for await (const [how, damage] of damagesOf(key)) {
    if (count++ >= DAMAGES_A_KEY) break;
    await damage();
    await expectReads(how, { ...row, named: [] }).finally(() => redis.restore(key, ttlMs, before, 'REPLACE'));
  }
});
