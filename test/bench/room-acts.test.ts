import { afterAll, expect, test, vi } from 'vitest';
import { fetchPackage, uwsTransportPackage } from '../../bench/peers/colyseus-uws-package.ts';
import type { Measured } from '../../bench/measure/measured.ts';
import { Processes } from '../../bench/processes/processes.ts';
import type { Bench, Scenario, Side } from '../../bench/scenario.ts';
import { actLatency } from '../../bench/scenarios/act-latency.ts';
import { actTransports } from '../../bench/scenarios/act-transports.ts';
import { seatData } from '../../bench/scenarios/seat-data.ts';

// Each test starts a server, a Redis and two processes of players.
vi.setConfig({ testTimeout: 60_000 });

const settings = { quick: true, connections: 8, seconds: 0.3, rounds: 1, minutes: 1, url: undefined };
const processes = new Processes(settings, new AbortController().signal, { doing() {} });
afterAll(() => processes.close());

const missing = await fetchPackage(uwsTransportPackage).then(
  () => undefined,
  (error: Error) => error.message,
);

const sideOf = ({ sides }: Scenario, id: string): Side => sides.find((side) => side.id === id)!;

test.for(['coinop', 'whole', 'colyseus', 'colyseus-uws'])('%s: every player has the last data of each player', async (id, { skip }) => {
  skip(id === 'colyseus-uws' && missing !== undefined, missing);
  const contestant = await sideOf(seatData, id).open(processes);
  const { serverCpu, pushes, p50 } = await contestant.round(0.3);
  expect(serverCpu).toBeGreaterThan(0);
  expect(p50).toBeGreaterThan(0);
  expect(pushes).toBeGreaterThan(10);
  expect(await contestant.audit!()).toEqual([]);
  await contestant.close!();
});

test.each([
  [actTransports, 'channel'],
  [actTransports, 'http'],
  [actLatency, 'bare'],
  [actLatency, 'coinop'],
] as const)('%# acts saturated and at a rate, and the other player has the last one', async (scenario, id) => {
  const contestant = await sideOf(scenario, id).open(processes);
  expect((await contestant.round(0.3)).perSecond).toBeGreaterThan(10);
  expect((await contestant.regimes![0]!.round(0.3, 100)).p50).toBeGreaterThan(0);
  expect(await contestant.audit!()).toEqual([]);
  await contestant.close!();
});

test('data that no player of the bench has set is a finding', async () => {
  let service: Measured | undefined;
  const bench = Object.create(processes, {
    settings: { value: settings },
    signal: { value: processes.signal },
    service: { value: async () => (service = await processes.service()) },
    child: { value: processes.child.bind(processes) },
  }) as Bench;
  const contestant = await sideOf(actTransports, 'channel').open(bench);
  await contestant.round(0.2);
  const { redis } = service!;
  for (const key of await redis!.keys('{room:?????}')) {
    // As `settle` of `room.lua` publishes a change: its seq, when the room was changed before it, and fields.
    const [seq, before] = await redis!.hmget(key, 'seq', 'updatedAt');
    const fields = ['p1.data', '{"x":0,"y":0,"n":1}', 'seq', Number(seq) + 1, 'updatedAt', Date.now()];
    await redis!
      .multi()
      .hset(key, ...fields)
      .publish(`0:${key}`, [Number(seq) + 1, before, ...fields].join('\n'))
      .exec();
  }
  await contestant.round(0.01);
  expect(await contestant.audit!()).toContainEqual(expect.stringMatching(/players do not have the last change of each player$/));
  await contestant.close!();
});
