import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../../bench/measure/statistics.ts';
import { processMemory } from '../../bench/measure/cpu.ts';
import { writtenKeys } from '../../src/features/rooms/list/list-model.ts';
import { acting, type Plan } from '../proofs/acting-rooms.ts';
import { Client, inParallel, sum } from '../proofs/client.ts';
import { cutSubscribers, kill, killProcess } from '../proofs/faults.ts';
import { Place } from '../proofs/place.ts';
import { type Part, type Stand } from '../proofs/proof.ts';
import { partOf, type Scenario } from '../proofs/scenario.ts';
import { WatchedRooms } from '../proofs/watched-rooms.ts';
import { frame, opcodes, RawSocket } from './raw-socket.ts';
import { eventually, watchRoom, Watcher } from './watcher.ts';

/** The live channels at full size on real processes. */

const SHARED = { on: 'shared', processes: 2 } as const;

const watched =
  (rooms: number): Scenario['load'] =>
  ({ figures }, { running }) =>
    WatchedRooms.open({
      ...{ rooms, watchersPerRoom: 10, reconnects: 0.15 },
      urls: () => running.map(({ url }) => url),
      report: (what, figure) => figures.report(what, figure),
    });

const usual: Plan = { data: 6, messages: 3, secrets: 4, everyMs: 700, textBytes: 40 };
const directed: Plan = { ...usual, directed: true };
/** Large pushes fill the buffers of a link that nobody reads: the kernel's buffers take some megabytes. */
const heavy: Plan = { data: 5, messages: 2, secrets: 1, everyMs: 300, textBytes: 950, stateBytes: 8000, isSlow: true };
const onlySecrets: Plan = { data: 0, messages: 0, secrets: 18, everyMs: 650, textBytes: 0 };
const times = <Item>(count: number, ...items: Item[]): Item[] => Array.from({ length: count }, () => items).flat();

const scenarios: readonly Omit<Scenario, 'proof'>[] = [
  {
    name: 'storm',
    about: 'random acts and reconnections on two processes, whose subscriptions are cut for 5 s: all watchers end with what Redis has',
    takes: 45,
    seconds: 16,
    place: SHARED,
    load: watched(50),
    fault: cutSubscribers(5),
  },
  {
    name: 'storm-workers',
    about: 'the same on two workers of one process, without cuts',
    takes: 20,
    seconds: 5,
    place: { settings: { WORKERS: '2' } },
    load: watched(10),
  },
  {
    name: 'acts',
    about: 'bursts of acts over channels that break, and links that nobody reads for 20 s',
    takes: 45,
    seconds: 20,
    place: SHARED,
    load: acting({ plans: [...times(4, usual, directed), heavy, heavy], cutEveryMs: 500 }),
  },
  {
    name: 'acts-killed',
    about: 'a process dies among its players, who go to the other one',
    takes: 30,
    seconds: 12,
    place: SHARED,
    load: acting({ plans: times(8, usual) }),
    fault: killProcess,
  },
  {
    name: 'acts-failover',
    about: 'a primary dies whose replicas lag by 20 ms, with REDIS_WAIT_REPLICAS=1',
    takes: 50,
    seconds: 16,
    // When one replica takes over, the other one acknowledges writes.
    place: { on: { replicas: 2 }, lagMs: 20, processes: 2, settings: { REDIS_WAIT_REPLICAS: '1' } },
    load: acting({ plans: times(12, usual) }),
    fault: kill,
  },
  {
    name: 'private',
    about: '20,000 private parts, over two processes whose links break now and then (--size 50 for a million)',
    takes: 40,
    place: SHARED,
    load: acting({ plans: times(30, onlySecrets), cutEveryMs: 500, secrets: 20_000 }),
  },
];

export const parts: readonly Part[] = [
  ...scenarios.map((row) => partOf({ proof: 'realtime', ...row })),
  { proof: 'realtime', name: 'stalled', about: '100 watchers that never read beside 100 healthy ones', seconds: 75, prove: proveStalled },
  {
    proof: 'realtime',
    name: 'list-killed',
    about: 'both processes of 500 listed rooms die while 400 players ask for matches',
    seconds: 35,
    prove: proveListKilled,
  },
];

async function clientOf(place: Place, { closing }: Stand): Promise<Client> {
  const client = new Client(() => place.url());
  closing.push(() => client.close());
  return client;
}

const since = (at: number): number => (performance.now() - at) / 1000;
/** A watcher that stores nothing, so that a thousand take little CPU time from the service. */
interface Tally {
  readonly socket: RawSocket;
  pushes: number;
  bytes: number;
  seq: number;
  /** Pushes that were repeated or older, or patches of another room than the watcher had. */
  faults: number;
  /** Called for each push. */
  pushed(): void;
}

async function tally(port: number, path: string): Promise<Tally> {
  const counts = { pushes: 0, bytes: 0, seq: 0, faults: 0, pushed: () => {} };
  const socket = await RawSocket.open(port, path, {}, (text) => {
    const [, seq, from] = /"seq":(\d+)(?:,"from":(\d+))?/.exec(text.toString('latin1', 0, 64))!;
    if (Number(seq) <= counts.seq || (from !== undefined && Number(from) !== counts.seq)) counts.faults++;
    [counts.seq, counts.bytes] = [Number(seq), counts.bytes + text.length];
    counts.pushes++;
    counts.pushed();
  });
  return Object.assign(counts, { socket });
}

async function tallies(count: number, port: number, path: string): Promise<Tally[]> {
  const all: Tally[] = [];
  await inParallel(Array.from({ length: count }), async () => all.push(await tally(port, path)), 50);
  return all;
}

/** Resolves when all have a state with this `seq` or a later one. @returns when each had it */
function reached(all: readonly Tally[], seq: number): Promise<number[]> {
  const one = (each: Tally): Promise<number> =>
    new Promise((resolve) => {
      each.pushed = () => void (each.seq >= seq && resolve(performance.now()));
      each.pushed();
    });
  return Promise.all(all.map(one));
}

const setState = async (client: Client, code: string, body: object): Promise<number> =>
  (await client.need(`/v1/rooms/${code}/state`, body)).room.seq;

async function proveStalled(stand: Stand): Promise<void> {
  const { figures } = stand;
  const place = await Place.open({ on: 'shared', settings: { ROOM_BYTES_PER_SECOND: '1000000000' } }, stand);
  const client = await clientOf(place, stand);
  const [service] = place.running as [(typeof place.running)[0]];
  const installId = 'stall-host';
  const { room } = await client.need('/v1/rooms', { installId });
  const open = (count: number): Promise<Tally[]> => tallies(count, service.port, `/v1/rooms/${room.code}/live`);
  // uWS closes a silent socket. A socket that answers pings but reads nothing has to be detected by its full buffers.
  const [healthy, silent, talking, returning] = [await open(100), await open(50), await open(50), await open(10)];
  const text = 'x'.repeat(8000);
  let last = await setState(client, room.code, { installId, state: { text } });
  await reached([...healthy, ...silent, ...talking, ...returning], last);
  const before = processMemory(service.pid);
  for (const { socket } of [...silent, ...talking, ...returning]) socket.pause();
  const latencies: number[] = [];
  let [peak, changes, silentFor, left, returned] = [before, 0, 0, 210, false];
  const stalledAt = performance.now();
  // It takes some seconds until the kernel's buffers are full (4 MB a socket), and a watcher may then be full for 30 s.
  while (left > 110 && since(stalledAt) < 120) {
    const askedAt = performance.now();
    last = await setState(client, room.code, { installId, state: { changes: changes++, text } });
    for (const at of await reached(healthy, last)) latencies.push(at - askedAt);
    if (changes % 50 !== 0) continue;
    for (const { socket } of talking) socket.write(frame(opcodes.pong, ''));
    peak = Math.max(peak, processMemory(service.pid));
    // A paused socket does not see its own end, so this asks the service.
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    left = Number(/^coinop_live_sockets (\d+)$/m.exec(metrics)![1]);
    if (left <= 160 && silentFor === 0) silentFor = since(stalledAt);
    if (returned || since(stalledAt) < 20) continue;
    returned = true;
    for (const { socket } of returning) socket.resume();
  }
  const talkingFor = since(stalledAt);
  latencies.sort((one, other) => one - other);
  figures.report('changes', changes);
  figures.time('healthy ones have each state after it was asked for, p99, ms', percentile(latencies, 0.99), 100);
  figures.report('  median and worst, ms', `${percentile(latencies, 0.5).toFixed(1)}; ${latencies.at(-1)!.toFixed(1)}`);
  figures.exactly('sockets that are still open', left, 110);
  figures.time('the service closed the silent ones after, s', silentFor, [30, 42]);
  figures.time('  and those that answered pings after, s (30 with full buffers)', talkingFor, [30, 60]);
  figures.atMost("the service's memory grew by, MB", (peak - before) / 2 ** 20, 64);
  await reached(returning, last);
  figures.atLeast('states that those skip at least who read again later', Math.min(...returning.map(({ pushes }) => changes - pushes)), 1);
  figures.exactly('states repeated or older', sum([...healthy, ...returning].map(({ faults }) => faults)), 0);
  for (const { socket } of [...silent, ...talking]) socket.resume();
  await Promise.all([...silent, ...talking].map(({ socket }) => socket.ended));
  for (const { socket } of [...healthy, ...returning]) socket.destroy();
}

const GAME = 'killed';

async function proveListKilled(stand: Stand): Promise<void> {
  const { figures, size } = stand;
  const [rooms, matches] = [Math.ceil(500 * size), Math.ceil(400 * size)];
  const place = await Place.open(SHARED, stand);
  const client = await clientOf(place, stand);
  const open = async (index: number): Promise<void> => {
    const installId = `list-host-${index}`;
    const asked = { installId, game: GAME, public: true, maxPlayers: 4, tags: { mode: 'duel' } };
    const { room } = await client.need('/v1/rooms', asked);
    if (index % 2 === 0) await (await watchRoom({ url: place.url() }, room.code)).hello(installId);
  };
  await inParallel(Array.from({ length: rooms }).keys(), open, 50);
  const listed = async (): Promise<number> => {
    let count = 0;
    for (let cursor = ''; ;) {
      const answer = await client.until(`/v1/rooms?game=${GAME}&limit=100${cursor}`, { method: 'GET' });
      count += answer!.body.rooms.length;
      if (answer!.body.nextCursor === undefined) return count;
      cursor = `&cursor=${answer!.body.nextCursor}`;
    }
  };
  figures.exactly('rooms listed that two processes opened', await listed(), rooms);
  // These players have a separate game, because otherwise their rooms would not be full.
  const ask = async (index: number): Promise<number> => {
    const body = { installId: `list-guest-${index}`, game: `${GAME}-matches`, maxPlayers: 4 };
    return Number((await client.post('/v1/rooms/match', body)).status === 200);
  };
  const asked = Array.from({ length: matches }, (_, index) => ask(index));
  await Promise.race(asked);
  const killedAt = performance.now();
  await place.killService();
  const reserved = (): Promise<number> => place.redis!.zcard(writtenKeys(`${GAME}-matches`).reserved);
  figures.report(
    `matches under way, of ${matches}: answered; seats still reserved`,
    `${sum(await Promise.all(asked))}; ${await reserved()}`,
  );
  const watcher = await Watcher.open(place.url(), `/v1/lobby/live?game=${GAME}&tag.mode=duel`);
  while ((await listed()) > 0 && since(killedAt) < 60) await delay(100);
  figures.exactly('rooms that stay in the list', await listed(), 0);
  figures.time('  it is empty after, s', since(killedAt), 15);
  await watcher.until((message) => message.type === 'rooms' && message.rooms.length === 0);
  figures.time('  and the live list after, s', since(killedAt), 15.6);
  await watcher.close();
  // Players with reservations do not come back. Each of these requests ends expired reservations.
  await Promise.all(Array.from({ length: 50 }, (_, index) => ask(matches + index)));
  await eventually(async () => (await reserved()) === 0).catch(() => {});
  figures.exactly('seats reserved for nobody', await reserved(), 0);
}
