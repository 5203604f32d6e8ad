import { afterAll, expect, test, vi } from 'vitest';
import { createColyseusRooms } from '../../bench/load/colyseus-rooms.ts';
import { roomDoc, stampedState } from '../../bench/load/room-message.ts';
import { applyChange, changed, plainRoom, roomState } from '../../bench/load/room-schema.ts';
import type { Measured } from '../../bench/measure/measured.ts';
import { fetchPackage, uwsTransportPackage } from '../../bench/peers/colyseus-uws-package.ts';
import { Processes } from '../../bench/processes/processes.ts';
import type { Bench, Scenario, Side } from '../../bench/scenario.ts';
import { burst } from '../../bench/scenarios/burst.ts';
import { fanOutRooms } from '../../bench/scenarios/fan-out.ts';
import { idle } from '../../bench/scenarios/idle.ts';

// Each test starts a server, a Redis and two processes of watchers.
vi.setConfig({ testTimeout: 60_000 });

const settings = { quick: true, connections: 8, seconds: 0.3, rounds: 1, minutes: 1, url: undefined };
const processes = new Processes(settings, new AbortController().signal, { doing() {} });
afterAll(() => processes.close());

/** The error of fetching the package from npm's registry. With an error, the tests on that transport are skipped. */
const missing = await fetchPackage(uwsTransportPackage).then(
  () => undefined,
  (error: Error) => error.message,
);
if (missing !== undefined) console.warn(`skipping the tests of Colyseus on uWebSockets.js: ${missing}`);

/** A bench that also gives access to the peer that it started last. */
function watchedBench(): { bench: Bench; peer: () => Measured } {
  let started: Measured | undefined;
  const bench = Object.create(processes, {
    settings: { value: settings },
    signal: { value: processes.signal },
    peer: { value: async (...args: Parameters<Bench['peer']>) => (started = await processes.peer(...args)) },
    child: { value: processes.child.bind(processes) },
  }) as Bench;
  return { bench, peer: () => started! };
}

const sideOf = ({ sides }: Scenario, id: string): Side => sides.find((side) => side.id === id)!;

test('a room in schemas equals the room that the service sends, before and after a change', () => {
  const room = plainRoom(roomDoc('BCDFG', 1), stampedState(1));
  const change = { seq: 2, updatedAt: 'later', expiresAt: 'last', stateSeq: 2, state: { turn: 2, at: '0000000000000009' } };
  const state = roomState(room);
  expect(JSON.stringify(state)).toBe(JSON.stringify(room));
  applyChange(state, change);
  expect(JSON.stringify(state)).toBe(JSON.stringify(changed(room, change)));
  expect(changed(room, change)).toMatchObject({
    seq: 2,
    updatedAt: 'later',
    expiresAt: 'last',
    stateSeq: 2,
    state: { turn: 2, at: '0000000000000009' },
  });
});

test.for(['colyseus', 'colyseus-uws'])('%s: every watcher has the last state of its room, or the audit fails', async (id, { skip }) => {
  skip(id === 'colyseus-uws' && missing !== undefined, missing);
  const { bench, peer } = watchedBench();
  const contestant = await sideOf(fanOutRooms, id).open(bench);
  const { serverCpu, p50 } = await contestant.round(0.3);
  expect(serverCpu).toBeGreaterThan(0);
  expect(p50).toBeGreaterThan(0);
  expect(await contestant.audit!()).toEqual([]);
  // Publishes a change without storing it. It keeps the stamp, so only the comparison of the whole rooms can find it.
  const { redis } = peer();
  const [key] = await redis!.keys('kept:*');
  const { seq, updatedAt, expiresAt, stateSeq, state } = JSON.parse((await redis!.hget(key!, 'room'))!);
  const change = { seq: seq + 1, updatedAt, expiresAt, stateSeq, state: { turn: state.turn + 1, at: state.at } };
  await redis!.publish(`room:${key!.slice('kept:'.length)}`, JSON.stringify(change));
  await expect.poll(() => contestant.audit!()).toEqual(['watchers of 1 rooms do not have the current room']);
  await contestant.close!();
});

test('a burst of changes by a host ends with the last state in every watcher', async () => {
  const contestant = await sideOf(burst, 'colyseus').open(watchedBench().bench);
  const { watcherMessages, lastStateP99 } = await contestant.round(0.5);
  expect(watcherMessages).toBeGreaterThan(1);
  expect(lastStateP99).toBeLessThan(30_000);
  expect(await contestant.audit!()).toEqual([]);
  await contestant.close!();
});

test.skipIf(missing)('idle watchers take memory and stay connected', async () => {
  const contestant = await sideOf(idle, 'colyseus-uws').open(watchedBench().bench);
  expect((await contestant.round(0.3)).watcherBytes).toBeGreaterThan(0);
  expect(await contestant.audit!()).toEqual([]);
});

test('a room that Colyseus refuses to create is an error', async () => {
  const refused = { url: 'http://127.0.0.1:1' } as Measured;
  await expect(createColyseusRooms(refused, 1)).rejects.toThrow();
});
