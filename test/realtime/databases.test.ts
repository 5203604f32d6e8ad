import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, expect, test } from 'vitest';
import { ban } from '../../src/accounts/ban.ts';
import { CallerScripts } from '../../src/accounts/caller-scripts.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { open } from '../features/rooms/room.ts';
import { forFile, freshId, start } from '../harness.ts';
import { keyChangesOf, makeServerKey, statusWith } from '../server-keys.ts';
import { startTcpRedis } from './child.ts';
import { eventually, watchRoom, type Watcher } from './watcher.ts';

/** Two environments in two databases of one Redis. */
const folder = mkdtempSync(join(tmpdir(), 'coinop-databases-'));
const redis = await startTcpRedis(folder);
afterAll(() => redis.stop().then(() => rmSync(folder, { recursive: true, force: true })));
const inZero = await forFile(start({ redis: { url: redis.url } }));
const inOne = await forFile(start({ redis: { url: `${redis.url}/1` } }));
const [client, listener] = [new Redis(redis.url), new Redis(redis.url)];
afterAll(() => [client, listener].forEach((one) => one.disconnect()));
/** The channels on which anything was published. */
const published = new Set<string>();
listener.on('pmessage', (_pattern, channel: string) => published.add(channel));
await listener.psubscribe('*');

/** Copies an object of database 0 into database 1 under the same name. */
const copy = async (key: string): Promise<void> => expect(await client.call('COPY', key, key, 'DB', '1')).toBe(1);

test('a watcher of a room does not hear the room of the same code in the other database', async () => {
  const room = await open(inZero);
  await copy(`{room:${room.code}}`);
  const [zero, one] = [await watchRoom(inZero, room.code), await watchRoom(inOne, room.code)];
  await Promise.all([zero.reaches(1), one.reaches(1)]);
  await room.act('state', room.host, { state: 'zero' });
  await zero.reaches(2);
  const { status } = await inOne.post(`/v1/rooms/${room.code}/state`, { installId: room.host, state: 'one' });
  expect(status).toBe(200);
  await one.reaches(2);
  // Redis sends messages in the order of their publication, so the message of database 0 would have come before.
  const statesOf = (watcher: Watcher): unknown[] => watcher.messages.map(({ room: { seq, state } }) => `${seq} ${JSON.stringify(state)}`);
  expect(statesOf(one)).toEqual(['1 {}', '2 "one"']);
  await room.act('lock', room.host);
  expect((await zero.reaches(3)).state).toBe('zero');
  expect(statesOf(zero)).toEqual(['1 {}', '2 "zero"', '3 "zero"']);
  await Promise.all([zero.close(), one.close()]);
});

test('a server key that is revoked in one database stays valid in the other', async () => {
  const made = await makeServerKey(inZero, ['accounts:read']);
  await copy('{server-keys}');
  // A change of the keys: the service reads all of them.
  await makeServerKey(inOne, ['accounts:read']);
  expect(await statusWith(inOne.url, made.token)).toBe(200);
  await keyChangesOf(inZero).revoke(made.id);
  await eventually(async () => (await statusWith(inZero.url, made.token)) === 401);
  expect(await statusWith(inOne.url, made.token)).toBe(200);
});

test('every subscribed or published channel carries the number of its database', async () => {
  const installId = freshId();
  await inOne.post('/v1/login', { installId });
  const scripts = new CallerScripts(inOne.service.connections.scripts, { now: inOne.now });
  await ban(accountIdOf(installId), {}, { scripts, now: inOne.now });
  for (const service of [inZero, inOne]) {
    const { token } = (await service.post('/v1/pair/new')).body;
    await service.post('/v1/pair/claim', { token, installId: freshId() });
    await service.post('/v1/highscores/pebble-drop', { installId: freshId(), score: 5, name: 'Ada' });
  }
  // The tests above published on the others.
  await expect
    .poll(() => new Set([...published].map((channel) => channel.replace(/^(\d+:\{?[\w-]+).*/, '$1'))))
    .toEqual(
      new Set(['0:{room', '1:{room', '0:{pair', '1:{pair', '0:{server-keys', '1:{server-keys', '0:{board', '1:{board', '1:standings']),
    );
  const subscribed = (await client.pubsub('CHANNELS', '*')) as string[];
  expect(subscribed.filter((channel) => !/^[01]:/.test(channel))).toEqual([]);
  expect(subscribed).toEqual(expect.arrayContaining(['0:standings', '1:standings', '0:{server-keys}', '1:{server-keys}']));
});
