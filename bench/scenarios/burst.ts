import { Audience } from '../load/audience.ts';
import { colyseusHost, serviceHost, type Host } from '../load/hosts.ts';
import { onSchedule } from '../load/schedule.ts';
import type { Dialect } from '../load/watchers.ts';
import type { Measured } from '../measure/measured.ts';
import { percentile } from '../measure/statistics.ts';
import { startColyseus } from '../peers/colyseus-server.ts';
import type { TransportName } from '../peers/colyseus-transports.ts';
import type { Bench, Contestant, Scenario, Side } from '../scenario.ts';

/**
 * A room that changes more often than its watchers can follow. A server may skip states in between, but never the last one. A server that
 * sends every change would need a million deliveries a second, so Colyseus is the only peer: it coalesces changes too. Its patch rate is
 * set to the service's 60 a second (its default is 20). Colyseus keeps the room in memory, so a change that it acknowledged is not on disk.
 */

const fullSize = { watchers: 1000, changesPerSecond: 1000 };
const quickSize = { watchers: 100, changesPerSecond: 300 };

/** Length of a round. The busiest second of a round is a figure, so a round has to contain whole seconds. */
const SECONDS = 2;
const QUICK_SECONDS = 0.5;

export const burst: Scenario = {
  name: 'room-burst',
  title: 'Burst: 1,000 changes a second into one room',
  summary:
    '1,000 requests a second set the state of a room with 1,000 watchers: for coinop POSTs, on disk when acknowledged; for Colyseus messages, kept in memory. Latency counts from the due time of a change until a watcher has a state that includes it.',
  operation: 'change',
  sides: [
    {
      id: 'coinop',
      name: 'coinop, patches',
      kind: 'service',
      open: (bench) => openService(bench, 'patched'),
    },
    colyseus({ id: 'colyseus', name: 'Colyseus, ws, 60 patches/s', transport: 'ws' }),
    colyseus({ id: 'colyseus-uws', name: 'Colyseus, uWS, 60 patches/s', transport: 'uws' }),
    { id: 'whole', name: 'coinop, whole rooms', kind: 'service', open: (bench) => openService(bench, 'plain') },
  ],
  targets: [
    { what: 'server CPU against Colyseus on uWebSockets.js', figure: 'serverCpu', side: 'coinop', against: 'colyseus-uws', most: 1 },
    { what: 'messages that the busiest watcher receives in a second', figure: 'watcherMessages', side: 'coinop', most: 60 },
    { what: 'from the last acknowledged change until a watcher has it, p99, ms', figure: 'lastStateP99', side: 'coinop', most: 100 },
  ],
  anywhere: true,
  rounds: 6,
};

async function openService(bench: Bench, dialect: 'patched' | 'plain'): Promise<Contestant> {
  const service = await bench.service();
  return hosted(bench, service, await serviceHost(service, bench.settings.connections), dialect);
}

function colyseus({ transport, ...side }: Pick<Side, 'id' | 'name'> & { transport: TransportName }): Side {
  return {
    ...side,
    kind: 'peer',
    isFetched: transport === 'uws',
    async open(bench) {
      const server = await startColyseus(bench, transport, { settings: { PATCHES_PER_SECOND: '60' } });
      return hosted(bench, server, await colyseusHost(server), 'colyseus');
    },
  };
}

async function hosted(bench: Bench, server: Measured, host: Host, dialect: Dialect): Promise<Contestant> {
  const { watchers, changesPerSecond } = bench.settings.quick ? quickSize : fullSize;
  const paths = [`/v1/rooms/${host.code}/live`];
  const audience = await Audience.gather(bench, { url: server.url, dialect, paths, each: watchers });
  const problems = new Set<string>();

  return {
    async round(given) {
      const pending = new Set<Promise<void>>();
      await audience.start();
      const startedAt = performance.now();
      const cpuBefore = await server.serverCpu();
      const { quick, url } = bench.settings;
      const seconds = url !== undefined ? given : quick ? QUICK_SECONDS : SECONDS;
      const changes = await onSchedule({ rate: changesPerSecond, seconds, signal: bench.signal }, (dueMs) => {
        const change = host.change(dueMs).catch((error: Error) => void problems.add(`a change was ${error.message}`));
        pending.add(change);
        void change.finally(() => pending.delete(change));
      });
      await Promise.all(pending);
      const elapsedSeconds = (performance.now() - startedAt) / 1000;
      const acknowledgedAt = host.answeredAt;
      const arrivedAt = await audience.lastStateAt({ seq: await host.standingSeq() });
      const cpu = (await server.serverCpu()) - cpuBefore;
      const tallied = await audience.stop(0);
      if (arrivedAt.includes(Infinity)) problems.add('a watcher never received the last state');
      if (tallied.faults > 0) problems.add(`${tallied.faults} states were not newer than the one before`);
      if (tallied.closed > 0) problems.add(`${tallied.closed} watchers were disconnected`);
      const latencies = tallied.latencies.sort();
      return {
        serverCpu: cpu / changes,
        perSecond: changes / elapsedSeconds,
        watcherMessages: tallied.busiestSecond,
        // The last state may arrive before the acknowledgement of its change, which gives a negative difference.
        lastStateP99: percentile(arrivedAt.map((at) => Math.max(0, at - acknowledgedAt)).sort(), 0.99),
        p50: percentile(latencies, 0.5),
        p99: percentile(latencies, 0.99),
        p999: percentile(latencies, 0.999),
      };
    },
    async audit() {
      const standing = dialect === 'plain' ? undefined : await host.standing?.();
      const states = standing === undefined ? [] : (await audience.states(1))[0]!;
      if (states.some((state) => state !== standing)) problems.add('watchers do not have the current room');
      return [...problems];
    },
    async close() {
      host.close();
      await audience.end();
    },
  };
}
