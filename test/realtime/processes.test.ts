import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshId, start, type TestService } from '../harness.ts';
import { open } from '../features/rooms/room.ts';
import { cutSubscriptions } from '../proofs/faults.ts';
import { WatchedRooms } from '../proofs/watched-rooms.ts';
import { startChild, startTcpRedis, type Child } from './child.ts';
import { RawSocket } from './raw-socket.ts';
import { RedisLink } from './redis-link.ts';
import { eventually, watchRoom, type Message } from './watcher.ts';

let folder: string;
let redis: Awaited<ReturnType<typeof startTcpRedis>>;
/** Two services on one Redis. They stand for two processes. The second is connected to Redis over a link that can be cut. */
let here: TestService;
let there: TestService;
let link: RedisLink;
let doomed: Child | undefined;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'coinop-processes-'));
  redis = await startTcpRedis(folder);
  link = await RedisLink.open(redis.socketPath);
  [here, there] = await Promise.all([start({ redis: { socketPath: redis.socketPath } }), start({ redis: link.location })]);
});

afterAll(async () => {
  await doomed?.stop('SIGKILL');
  await Promise.all([here, there].map((service) => service[Symbol.asyncDispose]()));
  await link[Symbol.asyncDispose]();
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

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
      'watchers that were closed more than once': 0,
      'answers of 500 and above': 0,
    });
    expect(load.reconnects).toBeGreaterThan(40);
  });

  test('subscribe to the rooms that their own sockets watch, once for all sockets of a room', async () => {
    const [a, b] = await Promise.all([open(here), open(there)]);
    const watchers = [
      await watchRoom(here, a.code),
      await watchRoom(there, a.code),
      await watchRoom(there, a.code),
      await watchRoom(there, b.code),
    ];
    const { redis: commands } = here.service;
    // A link that the storm cut may not be open again yet.
    await expect
      .poll(() => commands.pubsub('NUMSUB', `0:{room:${a.code}}`, `0:{room:${b.code}}`))
      .toEqual([`0:{room:${a.code}}`, 2, `0:{room:${b.code}}`, 1]);
    await Promise.all(watchers.map((watcher) => watcher.close()));
    await eventually(async () => ((await commands.pubsub('CHANNELS', '0:{room:*')) as string[]).length === 0);
  });

  test('show a player who is connected to both as connected until both sockets close', async () => {
    const room = await open(here);
    const [first, second, witness] = [
      await watchRoom(here, room.code),
      await watchRoom(there, room.code),
      await watchRoom(there, room.code),
    ];
    await first.hello(room.host);
    await second.hello(room.host);
    await witness.reaches(2);
    await first.close();
    await room.act('lock', room.host);
    expect((await witness.reaches(3)).players[0].connected).toBe(true);
    await second.close();
    expect((await witness.reaches(4)).players[0].connected).toBe(false);
    expect(witness.last.seq).toBe(4);
    await witness.close();
  });
});

describe('a service whose link to Redis', () => {
  test('loses its subscriptions sends its watchers every change once the link is back, and does not subscribe to rooms that nobody watches', async () => {
    const [room, left] = await Promise.all([open(here), open(here)]);
    const watcher = await watchRoom(there, room.code);
    const leaving = await watchRoom(there, left.code);
    link.cut('subscriber');
    await leaving.close();
    for (let index = 0; index < 10; index++) await room.act('state', room.host, { state: index });
    link.restore();
    expect((await watcher.reaches(11, 10_000)).state).toBe(9);
    // From then on changes are pushed again, and no longer wait for the comparison every 3 s.
    await eventually(async () => Number((await here.service.redis.pubsub('NUMSUB', `0:{room:${room.code}}`))[1]) === 1);
    await room.act('lock', room.host);
    await watcher.reaches(12, 1000);
    expect(await here.service.redis.pubsub('NUMSUB', `0:{room:${left.code}}`)).toEqual([`0:{room:${left.code}}`, 0]);
    expect(watcher.faults).toEqual([]);
    await watcher.close();
  });

  test('has no subscriptions for a while brings changes within seconds, and gives new watchers the present state', async () => {
    const room = await open(here);
    const watcher = await watchRoom(there, room.code);
    link.cut('subscriber');
    await room.act('state', room.host, { state: 'missed' });
    // The service watches the room already, so that this watcher needs no new subscription.
    const newcomer = await watchRoom(there, room.code);
    expect(newcomer.last?.room.state ?? (await newcomer.reaches(1)).state).toBe('missed');
    expect((await watcher.reaches(2, 10_000)).state).toBe('missed');
    link.restore();
    await Promise.all([watcher.close(), newcomer.close()]);
  });

  test('falls silent opens another link, and brings the changes in between', async () => {
    /** The ids of connections, and how many channels each has subscribed to. */
    const subscriptions = async (): Promise<[id: string, channels: number][]> => {
      const lines = String(await here.service.redis.client('LIST')).matchAll(/^id=(\d+) .* name=coinop-subscriber .* sub=(\d+)/gm);
      return Array.from(lines, ([, id, channels]) => [id!, Number(channels)]);
    };
    // Every service subscribes to the channels of all processes, and to each room that it watches. Nobody watches a room yet.
    const channelsOfAll = async (): Promise<number[]> => [...new Set((await subscriptions()).map(([, channels]) => channels))];
    await eventually(async () => (await subscriptions()).length === 2 && (await channelsOfAll()).length === 1);
    const [common] = await channelsOfAll();
    const room = await open(here);
    const watcher = await watchRoom(there, room.code);
    const subscribers = async (): Promise<string[]> =>
      (await subscriptions()).flatMap(([id, channels]) => (channels > common! ? [id] : []));
    // The other service watches no room here.
    await eventually(async () => (await subscribers()).length === 1);
    const before = await subscribers();
    link.silence('subscriber');
    await room.act('lock', room.host);
    await watcher.reaches(2, 10_000);
    await eventually(async () => (await subscribers()).some((id) => !before.includes(id)));
    await room.act('unlock', room.host);
    await watcher.reaches(3, 1000);
    await watcher.close();
  });

  test('breaks refuses upgrades with 503, and keeps its sockets, which catch up later', async () => {
    const room = await open(here);
    const watcher = await watchRoom(there, room.code);
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
    expect((await watcher.reaches(2, 10_000)).state).toBe('while away');
    expect((await watcher.hello(room.host)).error?.code ?? 'welcome').toBe('welcome');
    expect(watcher.faults).toEqual([]);
    await watcher.close();
  });
});

test('the players of a killed process are shown as away and keep their seats, and a host among them hands over', async () => {
  // A lease lasts 10 s. HOST_GRACE_SECONDS counts from its last renewal.
  const [dying, survivor] = await Promise.all([
    startChild({ REDIS_URL: redis.url, DATA_DIR: folder }),
    start({ redis: { socketPath: redis.socketPath }, settings: { HOST_GRACE_SECONDS: '30' } }),
  ]);
  doomed = dying;
  const room = await open(survivor);
  const guests = [await room.join(), await room.join()];
  const onDoomed = [await watchRoom(dying, room.code), await watchRoom(dying, room.code)];
  await onDoomed[0]!.hello(room.host);
  await onDoomed[1]!.hello(guests[0]!);
  const witness = await watchRoom(survivor, room.code);
  await witness.hello(guests[1]!);
  await witness.until((message) => message.room?.players.every(({ connected }: Message) => connected));
  await dying.stop('SIGKILL');
  expect((await Promise.all(onDoomed.map(({ closed }) => closed))).map(({ code }) => code)).toEqual([1006, 1006]);
  expect((await room.read()).players.every(({ connected }: Message) => connected)).toBe(true);

  survivor.advance(10_000);
  const { room: away } = await witness.until(
    (message) => message.room?.players[0].connected === false && message.room.players[1].connected === false,
  );
  expect([away.hostId, away.players.length]).toEqual(['p1', 3]);
  // The survivor's own player stays connected, though its clock jumped as far as a lease is long.
  await eventually(async () => (await room.read()).players[2].connected);
  // 10 of the 30 s have passed with the lease.
  const again = [await watchRoom(survivor, room.code), await watchRoom(survivor, room.code)];
  survivor.advance(8000);
  await again[0]!.hello(guests[1]!);
  survivor.advance(8000);
  await again[1]!.hello(guests[1]!);
  expect((await room.read()).hostId).toBe('p1');
  survivor.advance(4000);
  const { room: passed } = await witness.until((message) => message.room?.hostId === 'p3');
  expect(passed.players.map(({ id }: Message) => id)).toEqual(['p1', 'p2', 'p3']);
  const back = await watchRoom(survivor, room.code);
  expect(await back.hello(room.host)).toEqual({ type: 'welcome', you: { playerId: 'p1', host: false } });
  expect(witness.faults).toEqual([]);
  await Promise.all([witness, back, ...again].map((watcher) => watcher.close()));
  await survivor[Symbol.asyncDispose]();
});

test('a hello of a stranger is still refused after all these failures', async () => {
  const room = await open(here);
  const watcher = await watchRoom(there, room.code);
  expect((await watcher.hello(freshId())).error.code).toBe('not_in_room');
  await watcher.close();
});
