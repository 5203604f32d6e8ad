import { afterAll, expect, test, vi } from 'vitest';
import { Processes } from '../../bench/processes/processes.ts';
import { eventsRead } from '../../bench/scenarios/events-read.ts';
import { eventsWebhook } from '../../bench/scenarios/events-webhook.ts';
import { eventScenarios } from '../../bench/scenarios/events.ts';

// Each test starts a Redis, and most a server.
vi.setConfig({ testTimeout: 60_000 });

const settings = { quick: true, connections: 8, seconds: 0.3, rounds: 1, minutes: 1, url: undefined };
const processes = new Processes(settings, new AbortController().signal, { doing() {} });
afterAll(() => processes.close());

const named = Object.fromEntries([...eventScenarios, eventsRead, eventsWebhook].map((scenario) => [scenario.name, scenario]));

test.each([
  ['events-script', 'on-8', ['redisCpu']],
  ['events-script-everysec', 'off-8', ['redisCpu']],
  ['events-credit', 'on', ['serverCpu', 'redisCpu', 'perSecond']],
  ['events-read', 'coinop', ['serverCpu', 'redisCpu', 'cpu', 'perSecond']],
  ['events-webhook', 'everysec', ['serverCpu', 'redisCpu', 'p50', 'p99']],
] as const)('%s, %s measures a round, and its audit finds nothing', async (name, side, measured) => {
  const contestant = await named[name]!.sides.find(({ id }) => id === side)!.open(processes);
  const figures = await contestant.round(0.3);
  for (const figure of measured) expect(figures[figure]).toBeGreaterThan(0);
  expect((await contestant.audit?.()) ?? []).toEqual([]);
  await contestant.close!();
});
