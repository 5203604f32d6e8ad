import { codeOf } from '../../src/features/rooms/model.ts';
import { Audience } from '../load/audience.ts';
import { byPresence, createColyseusRooms } from '../load/colyseus-rooms.ts';
import { byPublishing, byRequest, byScript, bySocketIo, openRooms, type RoomChanges } from '../load/room-changes.ts';
import { onSchedule } from '../load/schedule.ts';
import type { Dialect } from '../load/watchers.ts';
import type { Measured } from '../measure/measured.ts';
import { Meter } from '../measure/meter.ts';
import { percentile } from '../measure/statistics.ts';
import { startColyseus } from '../peers/colyseus-server.ts';
import type { TransportName } from '../peers/colyseus-transports.ts';
import type { Engine } from '../processes/engines.ts';
import type { Bench, Contestant, Scenario, Side } from '../scenario.ts';

/**
 * Rooms that change while others watch: the cost and the latency of delivering one change to one watcher. Every side receives
 * its changes over Redis Pub/Sub from outside the server. For the service its own script makes the change, as another of its
 * processes would. For the floor and the peers the same kilobyte is stored in Redis and published. All changes are on disk
 * before they are sent. Colyseus stores the same kilobyte, but publishes and sends only the fields that a change alters: seq,
 * two times and the stamp.
 */

export interface Crowd {
  readonly rooms: number;
  /** Watchers per room. */
  readonly watchers: number;
  /** Changes of all rooms together, few enough that no state of a room is skipped. */
  readonly changesPerSecond: number;
}

export interface Sizes {
  readonly full: Crowd;
  readonly quick: Crowd;
}

export const oneRoom: Sizes = {
  full: { rooms: 1, watchers: 5000, changesPerSecond: 6 },
  quick: { rooms: 1, watchers: 300, changesPerSecond: 20 },
};

const manyRooms: Sizes = {
  full: { rooms: 200, watchers: 25, changesPerSecond: 800 },
  quick: { rooms: 20, watchers: 15, changesPerSecond: 200 },
};

/** A second already has 20,000 deliveries, so longer rounds would not be more precise. */
export const MOST_SECONDS = 1.5;

/** Changes come less often than requests, so V8 takes this long to optimise their code. */
export const WARM_UP_SECONDS = 2;

export const fanOutRoom = fanOut('fan-out-room', 'One room, 5,000 watchers', oneRoom);
export const fanOutRooms = fanOut('fan-out-rooms', '200 rooms, 25 watchers each', manyRooms);

function fanOut(name: string, title: string, sizes: Sizes): Scenario {
  const { watchers, changesPerSecond } = sizes.full;
  return {
    name,
    family: 'fan-out',
    title: `Fan-out: ${title.toLowerCase()}`,
    summary: `${changesPerSecond.toLocaleString('en')} changes a second from another process, ${(changesPerSecond * watchers).toLocaleString('en')} deliveries of a kilobyte (Colyseus: of the changed fields). Latency counts from the due time of a change until a watcher has it.`,
    operation: 'delivery',
    sides: [
      { id: 'coinop', name: 'coinop', kind: 'service', open: (bench) => openService(bench, sizes) },
      { id: 'patched', name: 'coinop, patches', kind: 'service', open: (bench) => openService(bench, sizes, undefined, 'patched') },
      peer({ id: 'uws', name: 'bare uWS publish', kind: 'floor', module: 'rooms-uws.ts' }, byPublishing, 'plain', sizes),
      peer({ id: 'ws', name: 'ws', kind: 'peer', module: 'rooms-ws.ts' }, byPublishing, 'plain', sizes),
      peer(
        { id: 'socket.io', name: 'Socket.IO, Redis adapter', kind: 'peer', module: 'rooms-socket-io.ts' },
        bySocketIo,
        'socket.io',
        sizes,
      ),
      peer(
        { id: 'socketcluster', name: 'SocketCluster', kind: 'peer', module: 'rooms-socketcluster.ts' },
        byPublishing,
        'socketcluster',
        sizes,
      ),
      colyseus({ id: 'colyseus', name: 'Colyseus, ws, 20 patches/s', transport: 'ws' }, sizes),
      colyseus({ id: 'colyseus-uws', name: 'Colyseus, uWS, 20 patches/s', transport: 'uws' }, sizes),
    ],
    targets: [
      { what: 'server CPU against bare uWS publish', figure: 'serverCpu', side: 'coinop', against: 'uws', most: 1.05 },
      { what: 'server CPU against Socket.IO', figure: 'serverCpu', side: 'coinop', against: 'socket.io', most: 0.5 },
      { what: 'server CPU with patches against Colyseus on uWS', figure: 'serverCpu', side: 'patched', against: 'colyseus-uws', most: 1 },
    ],
    anywhere: true,
    mostSeconds: MOST_SECONDS,
    warmUpSeconds: WARM_UP_SECONDS,
  };
}

function peer(
  { module, ...side }: Pick<Side, 'id' | 'name' | 'kind'> & { module: string },
  changesOf: (peer: Measured) => RoomChanges,
  dialect: Dialect,
  sizes: Sizes,
): Side {
  return {
    ...side,
    async open(bench) {
      const measured = await bench.peer(new URL(`../peers/${module}`, import.meta.url), { redis: true });
      const crowd = crowdOf(bench, sizes);
      const codes = Array.from({ length: crowd.rooms }, (_, index) => codeOf(index));
      return watched(bench, measured, { crowd, codes, dialect, changes: changesOf(measured), maySkip: false });
    },
  };
}

/** Colyseus sends patches 20 times a second, its default, so changes that come closer together may be sent as one. */
function colyseus({ transport, ...side }: Pick<Side, 'id' | 'name'> & { transport: TransportName }, sizes: Sizes): Side {
  return {
    ...side,
    kind: 'peer',
    isFetched: transport === 'uws',
    async open(bench) {
      // A fresh server, because the previous scenario's rooms would stay in a shared one for another 15 s.
      const measured = await startColyseus(bench, transport, { fresh: true });
      const crowd = crowdOf(bench, sizes);
      const rooms = await createColyseusRooms(measured, crowd.rooms);
      const changes = byPresence(measured, rooms);
      const wanted: Watched = { crowd, codes: [...rooms.keys()], dialect: 'colyseus', changes, maySkip: true };
      const contestant = await watched(bench, measured, wanted);
      return {
        ...contestant,
        async close() {
          await contestant.close?.();
          await measured.stop();
        },
      };
    },
  };
}

/** @param engine in place of the private Redis */
export async function openService(
  bench: Bench,
  sizes: Sizes,
  engine?: Engine,
  dialect: 'plain' | 'patched' = 'plain',
): Promise<Contestant> {
  const measured = await bench.service({ engine });
  const crowd = crowdOf(bench, sizes);
  const hosts = await openRooms(measured, crowd.rooms);
  const changes = measured.primaries.length === 0 ? await byRequest(measured, hosts) : byScript(measured, hosts);
  return watched(bench, measured, { crowd, codes: [...hosts.keys()], dialect, changes, maySkip: true });
}

function crowdOf({ settings: { quick } }: Bench, { full, quick: small }: Sizes): Crowd {
  return quick ? small : full;
}

interface Watched {
  readonly crowd: Crowd;
  readonly codes: readonly string[];
  readonly dialect: Dialect;
  readonly changes: RoomChanges;
  readonly maySkip: boolean;
}

async function watched(bench: Bench, measured: Measured, { crowd, codes, dialect, changes, maySkip }: Watched): Promise<Contestant> {
  const paths = codes.map((code) => `/v1/rooms/${code}/live`);
  const audience = await Audience.gather(bench, { url: measured.url, dialect, paths, each: crowd.watchers }).catch((error: Error) => {
    changes.close();
    throw error;
  });
  const problems: string[] = [];
  return {
    async round(seconds) {
      const pending = new Set<Promise<void>>();
      const lastChanges = new Float64Array(codes.length).fill(Number.NaN);
      await audience.start();
      const meter = new Meter(measured);
      await meter.begin();
      const span = {
        rate: crowd.changesPerSecond,
        seconds,
        signal: bench.signal,
      };
      const made = await onSchedule(span, (dueMs, number) => {
        lastChanges[number % codes.length] = dueMs;
        const change = changes.change(codes[number % codes.length]!, dueMs).catch((error: Error) => void problems.push(error.message));
        pending.add(change);
        void change.finally(() => pending.delete(change));
      });
      await Promise.all(pending);
      const due = made * crowd.watchers;
      const tallied = await audience.stop(due, lastChanges);
      await meter.end();
      const { serverCpu, redisCpu } = meter.each(tallied.messages);
      // On a slow machine two changes may arrive together, and the service then sends only the second state.
      const isMissing = tallied.messages < due && !maySkip;
      if (isMissing || tallied.messages > due) problems.push(`${made} changes need ${due} deliveries, but ${tallied.messages} arrived`);
      if (tallied.behind > 0) problems.push(`${tallied.behind} watchers do not have the last state`);
      if (tallied.faults > 0) problems.push(`${tallied.faults} states were not newer than the one before`);
      if (tallied.closed > 0) problems.push(`${tallied.closed} watchers were disconnected`);
      const latencies = tallied.latencies.sort();
      return {
        serverCpu,
        ...(measured.batches === undefined ? {} : { redisCpu }),
        atRate: crowd.changesPerSecond * crowd.watchers,
        p50: percentile(latencies, 0.5),
        p99: percentile(latencies, 0.99),
        p999: percentile(latencies, 0.999),
      };
    },
    audit: async () => [...new Set([...problems, ...(await unequalRooms(audience, changes, codes))])],
    async close() {
      changes.close();
      await audience.end();
    },
  };
}

/** Checks that watchers which receive patches have the whole current room. */
async function unequalRooms(audience: Audience, { standing }: RoomChanges, codes: readonly string[]): Promise<string[]> {
  if (standing === undefined) return [];
  const states = await audience.states(codes.length);
  const unequal = codes.filter((code, index) => states[index]!.length !== 1 || states[index]![0] !== standing(code));
  return unequal.length === 0 ? [] : [`watchers of ${unequal.length} rooms do not have the current room`];
}
