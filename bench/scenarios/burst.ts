import { Api } from '../load/api.ts';
import { Audience } from '../load/audience.ts';
import { openRooms } from '../load/room-changes.ts';
import { stampedState } from '../load/room-message.ts';
import { Posts } from '../load/posts.ts';
import { onSchedule } from '../load/schedule.ts';
import { percentile } from '../measure/statistics.ts';
import type { Bench, Contestant, Scenario } from '../scenario.ts';

/**
 * One room that changes far more often than anybody can watch: states between may be skipped, the last one never is, and
 * all have it at once. Nothing else here would stand a million deliveries a second, so the service runs alone.
 */

const fullSize = { watchers: 1000, changesPerSecond: 1000 };
const quickSize = { watchers: 100, changesPerSecond: 300 };

/** The busiest second of a round is looked for, so there have to be some whole ones. */
const SECONDS = 3;
const QUICK_SECONDS = 0.5;

export const burst: Scenario = {
  name: 'room-burst',
  title: 'Burst: 1,000 changes a second into one room',
  summary:
    '1,000 POSTs a second set the state of a room that 1,000 watch; latency is from when a change was due until a watcher has a state with it.',
  operation: 'change',
  sides: [{ id: 'coinop', name: 'coinop', kind: 'service', open: openRoom }],
  targets: [
    { what: 'messages that the busiest watcher gets in a second', figure: 'watcherMessages', side: 'coinop', most: 60 },
    { what: 'from the last acknowledged change until a watcher has it, p99, ms', figure: 'lastStateP99', side: 'coinop', most: 100 },
  ],
  anywhere: true,
  rounds: 3,
};

async function openRoom(bench: Bench): Promise<Contestant> {
  const { watchers, changesPerSecond } = bench.settings.quick ? quickSize : fullSize;
  const service = await bench.service();
  const [[code, installId]] = [...(await openRooms(service, 1))] as [[string, string]];
  const audience = await Audience.gather(bench, {
    url: service.url,
    dialect: 'plain',
    paths: [`/v1/rooms/${code}/live`],
    each: watchers,
  });
  const posts = await Posts.open(service.url, bench.settings.connections);
  const api = new Api(service.url);
  const problems = new Set<string>();

  const standingSeq = async (): Promise<number> => {
    const { body } = await api.need(api.get(`/v1/rooms/${code}`));
    return (body as { room: { seq: number } }).room.seq;
  };

  return {
    async round(asked) {
      const pending = new Set<Promise<void>>();
      await audience.start();
      const startedAt = performance.now();
      const cpuBefore = await service.serverCpu();
      const { quick, url } = bench.settings;
      const seconds = url !== undefined ? asked : quick ? QUICK_SECONDS : SECONDS;
      const changes = await onSchedule({ rate: changesPerSecond, seconds, signal: bench.signal }, (dueMs) => {
        const asked = posts
          .post(`/v1/rooms/${code}/state`, { installId, state: stampedState(dueMs) })
          .catch((error: Error) => void problems.add(`a change was ${error.message}`));
        pending.add(asked);
        void asked.finally(() => pending.delete(asked));
      });
      await Promise.all(pending);
      const elapsedSeconds = (performance.now() - startedAt) / 1000;
      const acknowledgedAt = posts.answeredAt;
      const arrivedAt = await audience.lastStateAt({ seq: await standingSeq() });
      const cpu = (await service.serverCpu()) - cpuBefore;
      const tallied = await audience.stop(0);
      if (arrivedAt.includes(Infinity)) problems.add('a watcher never got the last state');
      if (tallied.faults > 0) problems.add(`${tallied.faults} states were not newer than the one before`);
      if (tallied.closed > 0) problems.add(`${tallied.closed} watchers were cut off`);
      const latencies = tallied.latencies.sort();
      return {
        serverCpu: cpu / changes,
        perSecond: changes / elapsedSeconds,
        watcherMessages: tallied.busiestSecond,
        // It may have been there before its answer was.
        lastStateP99: percentile(arrivedAt.map((at) => Math.max(0, at - acknowledgedAt)).sort(), 0.99),
        p50: percentile(latencies, 0.5),
        p99: percentile(latencies, 0.99),
        p999: percentile(latencies, 0.999),
      };
    },
    audit: async () => [...problems],
    async close() {
      posts.close();
      api.close();
      await audience.end();
    },
  };
}
