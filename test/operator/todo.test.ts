import { expect, test } from 'vitest';
import { BACKGROUND_AUDIT_KEY } from '../../src/consistency/background.ts';
import { HOUR_MS, numberKeys } from '../../src/features/numbers/model.ts';
import { openCoinShop } from '../features/purchases/coins/store.ts';
import { startReceiver } from '../features/webhooks/receiver.ts';
import { forFile, freshId } from '../harness.ts';
import { makeServerKey } from '../server-keys.ts';
import { deskOf } from './parts.ts';

/** The list of what needs a person, on a Redis of its own. */

const DAY_MS = 24 * HOUR_MS;

const shop = await forFile(openCoinShop({ settings: { ADMIN_API: 'on', EVENTS: 'on', WEBHOOKS_PRIVATE: 'on' } }));
const { service, redis } = shop;
const desk = await deskOf(service);
const viewer = await deskOf(service, 'viewer');

const todo = async (of = desk): Promise<unknown[]> => (await of.read('/todo')).body.items;
const item = (kind: string, what: string, details: string, ...view: string[]) => ({ kind, what, details, view });
const minuteOf = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

test('nothing needs a person at first', async () => {
  expect(await todo()).toEqual([]);
});

test('a key that ends within two weeks is shown to an admin, unless another key replaces it', async () => {
  const expiresAt = service.now() + 3 * DAY_MS;
  const { id } = await makeServerKey(service, ['coins'], { name: 'The shop', expiresAt });
  await makeServerKey(service, ['coins'], { name: 'Later', expiresAt: service.now() + 15 * DAY_MS });
  expect(await todo()).toEqual([item('key_ending', `The key ${id} ends soon`, `“The shop” ends at ${minuteOf(expiresAt)}.`, 'keys')]);
  expect(await todo(viewer)).toEqual([]);
});

test('findings of the last audit, and an audit that is old', async () => {
  const endedAt = service.now() - 9 * DAY_MS;
  await redis.hset(BACKGROUND_AUDIT_KEY, 'endedAt', endedAt, 'findings', '2', 'seconds', '1');
  const ended = `The audit ended at ${minuteOf(endedAt)}.`;
  expect(await todo(viewer)).toEqual([item('audit_findings', 'The audit has 2 findings', `${ended} npm run audit lists them.`, 'health')]);
  await redis.hset(BACKGROUND_AUDIT_KEY, 'findings', '0');
  expect(await todo(viewer)).toEqual([item('audit_old', 'The last audit is old', ended, 'health')]);
  await redis.hset(BACKGROUND_AUDIT_KEY, 'endedAt', service.now());
  expect(await todo(viewer)).toEqual([]);
});

test('refusals rise if an hour has three times as many as an hour of the day before', async () => {
  const hour = Math.floor(service.now() / HOUR_MS);
  await redis.hset(numberKeys.refusals(hour - 1), 'rate_limited', 299, 'insufficient_coins', 5000, 'bad_token', 99);
  for (let back = 2; back < 26; back++) await redis.hset(numberKeys.refusals(hour - back), 'rate_limited', 100, 'insufficient_coins', 2000);
  expect(await todo(viewer)).toEqual([]);
  await redis.hset(numberKeys.refusals(hour), 'rate_limited', 300);
  const what = 'More requests are refused with rate_limited';
  expect(await todo(viewer)).toEqual([item('refusals_rising', what, '300 in an hour; 100 an hour before.', 'health')]);
  await redis.del(numberKeys.refusals(hour));
});

test('the service counts the refusals of each hour', async () => {
  const hour = Math.floor(service.now() / HOUR_MS);
  const counted = async () =>
    Number(await redis.hget(numberKeys.refusals(hour), 'insufficient_coins')) +
    Number(await redis.hget(numberKeys.refusals(hour + 1), 'insufficient_coins'));
  const before = await counted();
  for (let index = 0; index < 3; index++) await service.post('/v1/coins/debit', { installId: freshId(), coins: 1, key: 'a' });
  await expect.poll(counted, { timeout: 20_000 }).toBe(before + 3);
});

test('a purchase whose coins are not granted after a quarter of an hour', async () => {
  const { purchaseToken } = await shop.issue({});
  const { purchaseId } = (await shop.buy(freshId(), purchaseToken)).body.purchase;
  const record = `{product-purchase:${purchaseId}}`;
  await expect.poll(() => redis.hget(record, 'finished')).toBe('1');
  await redis.hdel(record, 'finished');
  const at = Number(await redis.hget(record, 'at'));
  await redis.zadd('product-purchases:due', service.now() + DAY_MS, purchaseId);
  expect(await todo(viewer)).toEqual([]);
  await redis.hset(record, 'at', at - 16 * 60_000);
  const details = `0 without their coins, the oldest since ${minuteOf(at - 16 * 60_000)}.`;
  expect(await todo(viewer)).toEqual([item('purchase_stuck', '1 purchase is stuck', details, 'purchases')]);
  await redis.hset(record, 'finished', '1');
  expect(await todo(viewer)).toEqual([]);
});

test('a webhook that fails, and one that its endpoint ended', async () => {
  await using receiver = await startReceiver();
  receiver.answer = (_, response) => void response.writeHead(500).end();
  const { id } = (await desk.change('/webhooks', { url: receiver.url, types: ['coins.changed'] })).body;
  await service.post('/v1/coins/credit', { installId: freshId(), coins: 1, key: 'a' });
  const failing = expect.objectContaining({ kind: 'webhook_failing', what: `Webhook ${id} fails`, view: ['webhooks', id] }) as unknown;
  await expect.poll(() => todo(viewer), { timeout: 20_000 }).toEqual([failing]);
  receiver.answer = (_, response) => void response.writeHead(410).end();
  await service.post('/v1/coins/credit', { installId: freshId(), coins: 1, key: 'a' });
  const ended = item('webhook_failing', `Webhook ${id} was ended by its endpoint`, 'The endpoint answered 410.', 'webhooks', id);
  await expect.poll(() => todo(viewer), { timeout: 20_000 }).toEqual([ended]);
});
