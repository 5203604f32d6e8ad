import { setTimeout as delay } from 'node:timers/promises';
import { Hooks } from '../../src/features/webhooks/hooks.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { Posts } from '../load/posts.ts';
import { onSchedule } from '../load/schedule.ts';
import { Meter } from '../measure/meter.ts';
import { percentile } from '../measure/statistics.ts';
import type { Bench, Contestant, Scenario } from '../scenario.ts';
import { eventService, type Fsync } from './events.ts';
import { CALLERS } from './http.ts';

/** From a change until its webhook's request arrives. */

const RATE = 200;
const SECONDS = 2;
const CONNECTIONS = 16;

/** After the last change of a round. */
const MOST_WAIT_MS = 10_000;

const FSYNCS: readonly Fsync[] = ['always', 'everysec'];

export const eventsWebhook: Scenario = {
  name: 'events-webhook',
  family: 'events',
  title: 'Events: from a change to its webhook',
  summary: `${RATE} credits a second, to ${CALLERS} accounts. Latency counts from the due time of a credit until the request of its event arrives at an endpoint that answers at once. CPU is that of a credit with its event and its webhook.`,
  operation: 'change',
  sides: FSYNCS.map((fsync) => ({ id: fsync, name: `appendfsync ${fsync}`, kind: 'service', open: (bench) => open(bench, fsync) })),
  targets: FSYNCS.flatMap((side) => [
    { what: `p50, ${side}`, figure: 'p50', side, most: 100 } as const,
    { what: `p99, ${side}`, figure: 'p99', side, most: 500 } as const,
  ]),
  anywhere: false,
  rounds: 12,
  apart: { minutes: 2 },
};

async function open(bench: Bench, fsync: Fsync): Promise<Contestant> {
  const service = await eventService(bench, { EVENTS: 'on', WEBHOOKS_PRIVATE: 'on' }, fsync);
  const receiver = await bench.child(new URL('../load/hook-receiver.ts', import.meta.url));
  const scripts = new ScriptRunner(service.redis!, { now: Date.now });
  const hooks = new Hooks({ scripts, config: { WEBHOOKS_PRIVATE: 'on' }, now: Date.now });
  await hooks.add({ url: `http://127.0.0.1:${Number(receiver.ready['port'])}/`, types: ['coins.changed'] }, 0);
  const posts = await Posts.open(service.url, CONNECTIONS);
  const problems = new Set<string>();
  let made = 0;
  return {
    async round() {
      const due = new Map<number, number>();
      const latencies: number[] = [];
      const meter = new Meter(service);
      await meter.begin();
      const seconds = bench.settings.quick ? bench.settings.seconds : SECONDS;
      await onSchedule({ rate: RATE, seconds, signal: bench.signal }, (dueMs) => {
        // The coins identify the change of an event.
        const coins = ++made;
        due.set(coins, dueMs);
        const change = { installId: `bench-hook-${coins % CALLERS}`, coins, key: `bench-${coins}` };
        posts.post('/v1/coins/credit', change).catch((error: Error) => void problems.add(`a credit was ${error.message}`));
      });
      const changes = due.size;
      for (const endsAt = performance.now() + MOST_WAIT_MS; due.size > 0 && performance.now() < endsAt; await delay(20))
        for (const [coins, atMs] of await receiver.ask<[number, number][]>('arrived')) {
          const dueMs = due.get(coins);
          if (dueMs !== undefined) latencies.push(atMs - dueMs);
          due.delete(coins);
        }
      await meter.end();
      if (due.size > 0) problems.add(`${due.size} of ${changes} changes did not arrive`);
      const { serverCpu, redisCpu } = meter.each(changes);
      latencies.sort((one, other) => one - other);
      return { serverCpu, redisCpu, atRate: RATE, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
    },
    audit: async () => [...problems],
    async close() {
      posts.close();
      await service.stop();
      await receiver.stop();
    },
  };
}
