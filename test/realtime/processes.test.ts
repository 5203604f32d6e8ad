import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { forFile, start } from '../harness.ts';
import { open } from '../features/rooms/room.ts';
import { cutSubscriptions } from '../proofs/faults.ts';
import { WatchedRooms } from '../proofs/watched-rooms.ts';
import { startChild, startTcpRedis } from './child.ts';
import { RawSocket } from './raw-socket.ts';
import { RedisLink } from './redis-link.ts';
import { eventually, watchRoom, type Message, type Watcher } from './watcher.ts';

const folder = mkdtempSync(join(tmpdir(), 'coinop-processes-'));
const redis = await startTcpRedis(folder);
afterAll(() => redis.stop().then(() => rmSync(folder, { recursive: true, force: true })));
/** Two services on one Redis. They stand for two processes. The second is connected to Redis over a link that can be cut. */
const link = await forFile(RedisLink.open(redis.socketPath));
const here = await forFile(start({ redis: { socketPath: redis.socketPath } }));
const there = await forFile(start({ redis: link.location }));

async function watch(service: { url: string }, code: string): Promise<Watcher> {
  const watcher = await watchRoom(service, code);
  onTestFinished(() => watcher.close());
  return watcher;
}

const subscriptionsTo = async (code: string): Promise<number> => Number((await here.service.redis.pubsub('NUMSUB', `0:{room:${code}}`))[1]);

describe('two services on one Redis', () => {
  test('every watcher ends up with the state in Redis, after random actions, reconnections and cuts of the subscriptions', async () => {
    const urls = [here.url, there.url];
    const load = await WatchedRooms.open({ urls: () => urls, rooms: 6, watchersPerRoom: 4, acts: 500, reconnects: 0.2 });
    const acting = load.run(() => false);
    await eventually(() => load.done > 80);
    await cutSubscriptions(here.service.redis, 800);
    await acting;
    expect(await load.compare()).toEqual({
      'rooms that differ between Redis, processes and watchers': 0,
      'states repeated or older': 0,
      'channels closed with another code': 0,
      'watchers that a process closed more than once': 0,
      'answers of 500 and above': 0,
    });
    expect(load.reconnects).toBeGreaterThan(40);
  });

  test('subscribe to the rooms that their own sockets watch, once for all sockets of a room, and again after the last has left', async () => {
    const [a, b] = await Promise.all([open(here), open(there)]);
    const watchers = [await watch(here, a.code), await watch(there, a.code), await watch(there, a.code), await watch(there, b.code)];
    // A link that was cut above may not be open again yet.
    await eventually(async () => (await subscriptionsTo(a.code)) === 2 && (await subscriptionsTo(b.code)) === 1);
    await Promise.all(watchers.map((watcher) => watcher.close()));
    await eventually(async () => ((await here.service.redis.pubsub('CHANNELS', '0:{room:*')) as string[]).length === 0);
    const again = await watch(there, a.code);
    await a.act('lock', a.host);
    await again.reaches(2);
  });

  test('show a player who is connected to both as connected until the last socket closes', async () => {
    const room = await open(here);
    const sockets = [await watch(here, room.code), await watch(here, room.code), await watch(there, room.code)];
    const witness = await watch(there, room.code);
    for (const socket of sockets) await socket.hello(room.host);
    await witness.reaches(2);
    for (const socket of sockets.slice(1)) await socket.close();
    await room.act('lock', room.host);
    expect((await witness.reaches(3)).players[0].connected).toBe(true);
    await sockets[0]!.close();
    expect((await witness.reaches(4)).players[0].connected).toBe(false);
  });
});

describe('a service whose link to Redis', () => {
  test('loses its subscriptions sends its watchers every change once the link is back, and does not subscribe to rooms that nobody watches', async () => {
    const [room, left] = await Promise.all([open(here), open(here)]);
    const watcher = await watch(there, room.code);
    const leaving = await watch(there, left.code);
    link.cut('subscriber');
    await leaving.close();
    for (let index = 0; index < 10; index++) await room.act('state', room.host, { state: index });
    link.restore();
    expect((await watcher.reaches(11)).state).toBe(9);
    // From then on changes are pushed again, and no longer wait for the comparison every 3 s.
    await eventually(async () => (await subscriptionsTo(room.code)) === 1);
    await room.act('lock', room.host);
    await watcher.reaches(12);
    expect(await subscriptionsTo(left.code)).toBe(0);
    expect(watcher.faults).toEqual([]);
  });

  test('has no subscriptions for a while brings changes within seconds, and gives new watchers the present state', async () => {
    const room = await open(here);
    const watcher = await watch(there, room.code);
    link.cut('subscriber');
    await room.act('state', room.host, { state: 'missed' });
    // The service watches the room already, so that this watcher needs no new subscription.
    const newcomer = await watch(there, room.code);
    expect(newcomer.last?.room.state ?? (await newcomer.reaches(1)).state).toBe('missed');
    expect((await watcher.reaches(2)).state).toBe('missed');
    link.restore();
  });

  test('falls silent opens another link, and brings the changes in between', async () => {
    /** The ids of the connections that have subscribed to a channel more than the others: to a room. */
    const watching = async (): Promise<string[]> => {
      const lines = String(await here.service.redis.client('LIST')).matchAll(/^id=(\d+) .* name=coinop-subscriber .* sub=(\d+)/gm);
      const all = Array.from(lines, ([, id, channels]) => [id!, Number(channels)] as const);
      const fewest = Math.min(...all.map(([, channels]) => channels));
      return all.filter(([, channels]) => channels > fewest).map(([id]) => id);
    };
    // Nobody watches a room yet, and both services are connected.
    await eventually(async () => (await watching()).length === 0 && there.service.redis.status === 'ready');
    const room = await open(here);
    const watcher = await watch(there, room.code);
    await eventually(async () => (await watching()).length === 1);
    const before = await watching();
    link.silence('subscriber');
    await room.act('lock', room.host);
    await watcher.reaches(2);
    await eventually(async () => (await watching()).some((id) => !before.includes(id)));
    await room.act('unlock', room.host);
    await watcher.reaches(3);
  });

  test('breaks refuses upgrades with 503, and keeps its sockets, which catch up later', async () => {
    const room = await open(here);
    const watcher = await watch(there, room.code);
    link.cut('subscriber', 'commands');
    await eventually(() => there.service.redis.status !== 'ready');
    for (const code of [room.code, 'BBBBB']) {
      const raw = await RawSocket.open(there.port, `/v1/rooms/${code}/live`);
      expect([raw.status, raw.body.error.code]).toEqual([503, 'store_unavailable']);
      raw.destroy();
    }
    // Messages of a watcher are answered meanwhile.
    expect((await watcher.hello(room.host)).error.code).toBe('store_unavailable');
    await room.act('state', room.host, { state: 'while away' });
    expect(watcher.isClosed).toBe(false);
    link.restore();
    expect((await watcher.reaches(2)).state).toBe('while away');
    expect((await watcher.hello(room.host)).error?.code ?? 'welcome').toBe('welcome');
    expect(watcher.faults).toEqual([]);
  });
});

test('the players of a killed process are shown as away and keep their seats, and a host among them hands over', async () => {
  await using survivor = await start({ redis: { socketPath: redis.socketPath }, settings: { HOST_GRACE_SECONDS: '60' } });
  const dying = await startChild({ REDIS_URL: redis.url, DATA_DIR: folder });
  const room = await open(survivor);
  const [onDying, witness] = [await watch(dying, room.code), await watch(survivor, room.code)];
  await onDying.hello(room.host);
  const guest = await room.join();
  await witness.hello(guest);
  const connected = (...wanted: boolean[]): Promise<Message> =>
    witness.until(({ room: shown }) => wanted.every((each, seat) => shown?.players[seat]?.connected === each));
  await connected(true, true);
  await dying.stop('SIGKILL');
  expect((await onDying.closed).code).toBe(1006);
  expect((await room.read()).players.map(({ connected: isHere }: Message) => isHere)).toEqual([true, true]);

  // A lease lasts 10 s. HOST_GRACE_SECONDS counts from its last renewal.
  survivor.advance(10_000);
  expect((await connected(false, true)).room.hostId).toBe('p1');
  // The survivor renews the lease of its own player.
  for (let seconds = 10; seconds < 60; seconds += 8) {
    // Long before the end, because a slow machine's clock goes on meanwhile.
    if (seconds < 30) expect((await room.read()).hostId).toBe('p1');
    survivor.advance(8000);
    await (await watch(survivor, room.code)).hello(guest);
  }
  await witness.until(({ room: shown }) => shown?.hostId === 'p2');
  const back = await watch(survivor, room.code);
  expect(await back.hello(room.host)).toEqual({ type: 'welcome', you: { playerId: 'p1', host: false }, now: expect.any(Number) });
  expect(witness.faults).toEqual([]);
});
