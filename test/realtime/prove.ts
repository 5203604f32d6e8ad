import { processMemory } from '../../bench/measure/cpu.ts';
import { acting, type Plan } from '../proofs/acting-rooms.ts';
import { times } from '../proofs/client.ts';
import { cutSubscribers, kill, killProcess } from '../proofs/faults.ts';
import { quantile } from '../proofs/figures.ts';
import { within } from '../proofs/history.ts';
import { Place } from '../proofs/place.ts';
import type { Part, Stand } from '../proofs/proof.ts';
import { partOf, type Scenario } from '../proofs/scenario.ts';
import { WatchedRooms } from '../proofs/watched-rooms.ts';
import { frame, opcodes, RawSocket } from './raw-socket.ts';

/** The live channels at full size on real processes. */

const SHARED = { on: 'shared', processes: 2 } as const;

const watched =
  (count: number): Scenario['load'] =>
  (_, { running }) =>
    WatchedRooms.open({ urls: () => running.map(({ url }) => url), rooms: count, watchersPerRoom: 10, reconnects: 0.15 });

const usual: Plan = { data: 6, messages: 3, secrets: 4, everyMs: 700, textBytes: 40 };
const directed: Plan = { ...usual, directed: true };
/** Large pushes fill the buffers of a link that nobody reads: the kernel's buffers take some megabytes. */
const heavy: Plan = { data: 5, messages: 2, secrets: 1, everyMs: 300, textBytes: 950, stateBytes: 8000, isSlow: true };
const onlySecrets: Plan = { data: 0, messages: 0, secrets: 18, everyMs: 650, textBytes: 0 };
const rooms = (count: number, ...plans: Plan[]): Plan[] => times(count, () => plans).flat();

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
    load: acting({ plans: [...rooms(4, usual, directed), heavy, heavy], cutEveryMs: 500 }),
  },
  {
    name: 'acts-killed',
    about: 'a process dies among its players, who go to the other one',
    takes: 30,
    seconds: 12,
    place: SHARED,
    load: acting({ plans: rooms(8, usual) }),
    fault: killProcess,
  },
  {
    name: 'acts-failover',
    about: 'a primary dies whose replicas lag by 20 ms, with REDIS_WAIT_REPLICAS=1',
    takes: 50,
    seconds: 16,
    // When one replica takes over, the other one acknowledges writes.
    place: { on: { replicas: 2 }, lagMs: 20, processes: 2, settings: { REDIS_WAIT_REPLICAS: '1' } },
    load: acting({ plans: rooms(12, usual) }),
    fault: kill,
  },
  {
    name: 'private',
    about: '20,000 private parts, over two processes whose links break now and then (--size 50 for a million)',
    takes: 40,
    place: SHARED,
    load: acting({ plans: rooms(30, onlySecrets), cutEveryMs: 500, secrets: 20_000 }),
  },
];

export const parts: readonly Part[] = [
  ...scenarios.map((row) => partOf({ proof: 'realtime', ...row })),
  {
    ...{ proof: 'realtime', name: 'stalled', seconds: 75, prove: proveStalled },
    about: '100 watchers that never read beside 100 healthy ones',
  },
];

/** A watcher that stores only the `seq` of its last state. */
interface Tally {
  readonly socket: RawSocket;
  seq: number;
}

async function proveStalled(stand: Stand): Promise<void> {
  const { figures } = stand;
  const { client, running } = await Place.open({ on: 'shared', settings: { ROOM_BYTES_PER_SECOND: '1000000000' } }, stand);
  const { pid, port, url } = running[0]!;
  const installId = 'stall-host';
  const { code } = (await client.need('/v1/rooms', { installId })).room;
  const open = (count: number): Promise<Tally[]> =>
    Promise.all(
      times(count, async () => {
        const tally = { seq: 0 };
        const socket = await RawSocket.open(port, `/v1/rooms/${code}/live`, {}, (text) => {
          tally.seq = Number(/"seq":(\d+)/.exec(text.toString('latin1', 0, 64))![1]);
        });
        return Object.assign(tally, { socket });
      }),
    );
  // uWS closes a silent socket. A socket that answers pings but reads nothing has to be detected by its full buffers.
  const [healthy, silent, talking] = [await open(100), await open(50), await open(50)];
  const before = processMemory(pid);
  for (const { socket } of [...silent, ...talking]) socket.pause();
  const latencies: number[] = [];
  let [peak, changes, silentFor, left] = [before, 0, 0, 200];
  const stalledAt = performance.now();
  const stalledFor = (): number => (performance.now() - stalledAt) / 1000;
  // It takes some seconds until the kernel's buffers are full (4 MB a socket), and a watcher may then be full for 30 s.
  while (left > 100 && stalledFor() < 120) {
    const askedAt = performance.now();
    const body = { installId, state: { changes: changes++, text: 'x'.repeat(8000) } };
    const { seq } = (await client.need(`/v1/rooms/${code}/state`, body)).room;
    await within(10_000, () => healthy.every((each) => each.seq >= seq), 1);
    latencies.push(performance.now() - askedAt);
    if (changes % 50 !== 0) continue;
    for (const { socket } of talking) socket.write(frame(opcodes.pong, ''));
    peak = Math.max(peak, processMemory(pid));
    // A paused socket does not see its own end, so this asks the service.
    left = Number(/^coinop_live_sockets (\d+)$/m.exec(await (await fetch(`${url}/metrics`)).text())![1]);
    if (left <= 150 && silentFor === 0) silentFor = stalledFor();
  }
  figures.report('changes', changes);
  figures.time('all healthy ones have a state after it was asked for, p99, ms', quantile(latencies), 100);
  figures.exactly('sockets that are still open', left, 100);
  figures.time('the service closed the silent ones after, s', silentFor, [30, 42]);
  figures.time('  and those that answered pings after, s (30 with full buffers)', stalledFor(), [30, 60]);
  figures.atMost("the service's memory grew by, MB", (peak - before) / 2 ** 20, 64);
  for (const { socket } of [...healthy, ...silent, ...talking]) socket.destroy();
}
