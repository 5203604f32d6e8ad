import { codeOf } from '../../src/features/rooms/model.ts';
import { Audience } from '../load/audience.ts';
import { byPresence, createColyseusRooms } from '../load/colyseus-rooms.ts';
import { byPublishing, byRequest, byScript, bySocketIo, openRooms, type RoomChanges } from '../load/room-changes.ts';
import { onSchedule } from '../load/schedule.ts';
import type { Dialect } from '../load/watchers.ts';
import type { Measured } from '../measure/measured.ts';
import { percentile } from '../measure/statistics.ts';
import { startColyseus } from '../peers/colyseus-server.ts';
import type { TransportName } from '../peers/colyseus-transports.ts';
import type { Bench, Contestant, Scenario, Side } from '../scenario.ts';

/**
 * Rooms that change while others watch: what it costs a server to tell one watcher of one change, and how long that takes.
 * A change is made elsewhere and comes in over Redis Pub/Sub, in every side: the service's own script makes it, as any other
 * of its processes would; for floor and peers the same kilobyte is kept in Redis and published. All are on disk before they
 * go out. Colyseus keeps the same kilobyte, and publishes and sends only what a change alters: seq, two times and the stamp.
 */

interface Crowd {
  readonly rooms: number;
  /** In each. */
  readonly watchers: number;
  /** Of all rooms together. Each is left time enough that no state is skipped. */
  readonly changesPerSecond: number;
}

interface Sizes {
  readonly full: Crowd;
  readonly quick: Crowd;
}

const oneRoom: Sizes = {
  full: { rooms: 1, watchers: 5000, changesPerSecond: 6 },
  quick: { rooms: 1, watchers: 300, changesPerSecond: 20 },
};

const manyRooms: Sizes = {
  full: { rooms: 200, watchers: 25, changesPerSecond: 800 },
  quick: { rooms: 20, watchers: 15, changesPerSecond: 200 },
};

/** Longer rounds tell nothing more: a second is 20,000 deliveries. */
const MOST_SECONDS = 1.5;

/** Changes are few next to requests: it takes this long until the compiler has seen enough of them. */
const WARM_UP_SECONDS = 2;

export const fanOutRoom = fanOut('fan-out-room', 'One room, 5,000 watchers', oneRoom);
export const fanOutRooms = fanOut('fan-out-rooms', '200 rooms, 25 watchers each', manyRooms);

function fanOut(name: string, title: string, sizes: Sizes): Scenario {
  const { watchers, changesPerSecond } = sizes.full;
  return {
    name,
    family: 'fan-out',
    title: `Fan-out: ${title.toLowerCase()}`,
    summary: `${changesPerSecond.toLocaleString('en')} changes a second from another process, ${(changesPerSecond * watchers).toLocaleString('en')} deliveries of a kilobyte, by Colyseus of what a change alters in it; latency is from when the change was due until a watcher has it.`,
    operation: 'delivery',
    sides: [
      { id: 'coinop', name: 'coinop', kind: 'service', open: (bench) => openService(bench, sizes) },
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
      { what: 'server CPU against bare uWS publish', figure: 'serverCpu', side: 'coinop', against: 'uws', most: 1.15 },
      { what: 'server CPU against Socket.IO', figure: 'serverCpu', side: 'coinop', against: 'socket.io', most: 0.55 },
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

/** Its rooms send what has changed 20 times a second, its default: changes that come closer together may go out as one. */
function colyseus({ transport, ...side }: Pick<Side, 'id' | 'name'> & { transport: TransportName }, sizes: Sizes): Side {
  return {
    ...side,
    kind: 'peer',
    async open(bench) {
      // A fresh one: rooms of the scenario before would stand in it for another 15 s.
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

async function openService(bench: Bench, sizes: Sizes): Promise<Contestant> {
  const measured = await bench.service();
  const crowd = crowdOf(bench, sizes);
  const hosts = await openRooms(measured, crowd.rooms);
  const changes = measured.redis === undefined ? await byRequest(measured, hosts) : byScript(measured, hosts);
  return watched(bench, measured, { crowd, codes: [...hosts.keys()], dialect: 'plain', changes, maySkip: true });
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
      const cpuBefore = await measured.serverCpu();
      const span = {
        rate: crowd.changesPerSecond,
        seconds,
        signal: bench.signal,
      };
      const made = await onSchedule(span, (dueMs, number) => {
        lastChanges[number % codes.length] = dueMs;
        const asked = changes.change(codes[number % codes.length]!, dueMs).catch((error: Error) => void problems.push(error.message));
        pending.add(asked);
        void asked.finally(() => pending.delete(asked));
      });
      await Promise.all(pending);
      const due = made * crowd.watchers;
      const tallied = await audience.stop(due, lastChanges);
      const cpu = (await measured.serverCpu()) - cpuBefore;
      // A machine that lags may bring two changes together, of which the service sends the latter alone.
      const isMissing = tallied.messages < due && !maySkip;
      if (isMissing || tallied.messages > due) problems.push(`${made} changes are ${due} deliveries, and ${tallied.messages} came`);
      if (tallied.behind > 0) problems.push(`${tallied.behind} watchers do not have the last state`);
      if (tallied.faults > 0) problems.push(`${tallied.faults} states were not newer than the one before`);
      if (tallied.closed > 0) problems.push(`${tallied.closed} watchers were cut off`);
      const latencies = tallied.latencies.sort();
      return {
        serverCpu: cpu / tallied.messages,
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

/** Watchers that were sent differences have to have put the whole room together from them. */
async function unequalRooms(audience: Audience, { standing }: RoomChanges, codes: readonly string[]): Promise<string[]> {
  if (standing === undefined) return [];
  const states = await audience.states(codes.length);
  const unequal = codes.filter((code, index) => states[index]!.length !== 1 || states[index]![0] !== standing(code));
  return unequal.length === 0 ? [] : [`watchers of ${unequal.length} rooms do not have the room as it stands`];
}
