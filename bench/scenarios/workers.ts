import { setTimeout } from 'node:timers/promises';
import { Api } from '../load/api.ts';
import { Audience } from '../load/audience.ts';
import { Posts } from '../load/posts.ts';
import { openRooms } from '../load/room-changes.ts';
import { stampedState } from '../load/room-message.ts';
import { onSchedule } from '../load/schedule.ts';
import type { Measured } from '../measure/measured.ts';
import { percentile } from '../measure/statistics.ts';
import { holders } from '../processes/family.ts';
import type { Bench, Contestant, Scenario, Side } from '../scenario.ts';
import { creditBySession } from './coins.ts';
import { httpSide } from './http.ts';

/**
 * A service of two processes (WORKERS=2) beside a service of one process. CPU is that of all processes of the service together, including
 * the primary.
 */

const APART = { minutes: 2 };

export const workersCredit: Scenario = {
  name: 'workers-credit',
  family: 'workers',
  title: 'Workers: credit by session',
  summary: 'The same credits by session to a service of two processes and to one of one. CPU is that of all processes together.',
  operation: 'request',
  sides: [credited(2), credited(1)],
  targets: [],
  anywhere: false,
  apart: APART,
};

function credited(workers: number): Side {
  return httpSide({
    ...sideOf(workers),
    kind: 'service',
    server: (bench) => bench.service({ settings: { WORKERS: String(workers) } }),
    callers: 'sessions',
    requests: [creditBySession],
  });
}

function sideOf(workers: number): Pick<Side, 'id' | 'name'> {
  return { id: `workers-${workers}`, name: workers === 1 ? 'one process' : `${workers} workers` };
}

interface Crowd {
  readonly rooms: number;
  /** Watchers opened in each room. With two workers about half of them stay. */
  readonly watchers: number;
  /** Changes of all rooms together, few enough that no state of a room is skipped. */
  readonly changesPerSecond: number;
}

const full: Crowd = { rooms: 20, watchers: 100, changesPerSecond: 200 };
const quick: Crowd = { rooms: 4, watchers: 10, changesPerSecond: 50 };

export const workersRooms: Scenario = {
  name: 'workers-rooms',
  family: 'workers',
  title: 'Workers: rooms',
  summary: `${full.changesPerSecond} changes a second over HTTP in ${full.rooms} rooms of some 50 watchers each. All changes go to one process, and all watchers are on the other process or on the same. Latency counts from the due time of a change until a watcher has it; CPU is that of all processes together.`,
  operation: 'delivery',
  sides: [
    { id: 'across', name: '2 workers, watchers on the other', kind: 'service', open: (bench) => openRoomsOf(bench, 2, 'other') },
    { id: 'same', name: '2 workers, watchers on the same', kind: 'service', open: (bench) => openRoomsOf(bench, 2, 'same') },
    { ...sideOf(1), kind: 'service', open: (bench) => openRoomsOf(bench, 1, 'same') },
  ],
  targets: [],
  anywhere: false,
  mostSeconds: 1.5,
  warmUpSeconds: 2,
  apart: APART,
};

async function openRoomsOf(bench: Bench, workers: number, place: 'same' | 'other'): Promise<Contestant> {
  const { rooms, watchers, changesPerSecond } = bench.settings.quick ? quick : full;
  const service = await bench.service({ settings: { WORKERS: String(workers) } });
  const hosts = [...(await openRooms(service, rooms))];
  const paths = hosts.map(([code]) => `/v1/rooms/${code}/live`);
  const each = workers === 1 ? watchers / 2 : watchers;
  const audience = await Audience.gather(bench, { url: service.url, dialect: 'plain', paths, each });
  const problems = new Set<string>();
  const processOf = holders(service.pids, service.port);
  const [changed] = processOf.values();
  const kept = await audience.keep((port) => processOf.has(port) && (processOf.get(port) === changed) === (place === 'same'));
  if (changed === undefined || kept === 0) problems.add('the kernel gave one process all connections');
  let made = 0;

  return {
    async round(seconds) {
      const posts = await postsTo(service, changed);
      const pending = new Set<Promise<void>>();
      await audience.start();
      const cpuBefore = await service.serverCpu();
      const changes = await onSchedule({ rate: changesPerSecond, seconds, signal: bench.signal }, (dueMs) => {
        const [code, installId] = hosts[made++ % hosts.length]!;
        const change = posts.post(`/v1/rooms/${code}/state`, { installId, state: stampedState(dueMs) });
        const settled = change.catch((error: Error) => void problems.add(`a change was ${error.message}`));
        pending.add(settled);
        void settled.finally(() => pending.delete(settled));
      });
      await Promise.all(pending);
      const tallied = await audience.stop(Math.floor((changes * kept) / rooms));
      const cpu = (await service.serverCpu()) - cpuBefore;
      posts.close();
      if (tallied.faults > 0) problems.add(`${tallied.faults} states were not newer than the one before`);
      if (tallied.closed > 0) problems.add(`${tallied.closed} watchers were disconnected`);
      const latencies = tallied.latencies.sort();
      return {
        serverCpu: cpu / tallied.messages,
        atRate: changesPerSecond,
        p50: percentile(latencies, 0.5),
        p99: percentile(latencies, 0.99),
        p999: percentile(latencies, 0.999),
      };
    },
    async audit() {
      const states = await standing(service, hosts);
      const arrived = await audience.lastStateAt({ seq: Math.min(...states) });
      if (arrived.includes(Infinity)) problems.add('a watcher does not have the last state');
      return [...problems];
    },
    async close() {
      await audience.end();
      await service.stop();
    },
  };
}

/** Opens one connection that a certain process of the service holds, so that this process gets all POSTs. */
async function postsTo(service: Measured, pid: number | undefined): Promise<Posts> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const posts = await Posts.open(service.url, 1);
    if ((await holderOf(service, posts.localPorts[0]!, Date.now() + MOST_ACCEPT_MS)) === pid) return posts;
    posts.close();
  }
  throw new Error(`none of ${MOST_ATTEMPTS} new connections went to process ${pid}`);
}

/** The process that accepted the connection; undefined when none did until then. */
async function holderOf(service: Measured, port: number, untilMs: number): Promise<number | undefined> {
  const holder = holders(service.pids, service.port).get(port);
  if (holder !== undefined || Date.now() > untilMs) return holder;
  await setTimeout(1);
  return holderOf(service, port, untilMs);
}

const MOST_ACCEPT_MS = 1_000;

/**
 * The kernel gives each of two processes about half of the connections: the chance that a run of attempts never reaches a process is 1 in
 * 10^15.
 */
const MOST_ATTEMPTS = 50;

/** The current `seq` of each room on the server. */
async function standing(service: Measured, hosts: readonly (readonly [code: string, installId: string])[]): Promise<number[]> {
  const api = new Api(service.url);
  try {
    const answers = hosts.map(([code]) => api.expectOk(api.get(`/v1/rooms/${code}`)));
    return (await Promise.all(answers)).map(({ body }) => (body as { room: { seq: number } }).room.seq);
  } finally {
    api.close();
  }
}
