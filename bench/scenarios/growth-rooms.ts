import { Api, inParallel } from '../load/api.ts';
import { Audience } from '../load/audience.ts';
import type { RequestPlan } from '../load/order.ts';
import type { Engine } from '../processes/engines.ts';
import type { Bench, Contestant, Scenario, Side } from '../scenario.ts';
import type { Figures } from '../figures.ts';

/**
 * The cost of a room change among many other rooms with one watcher each. It includes the subscriptions and the comparison of
 * positions every 3 s. Each size has its own service, except with --quick.
 */

/** Number of rooms that change. The load needs a separate request for each. */
const CHANGING = 100;

const MOST_SECONDS = 0.5;

export const growthRooms: Scenario = {
  name: 'growth-rooms',
  family: 'growth',
  title: 'Growth: watched rooms',
  summary: `State changes over HTTP in ${CHANGING} rooms among 100 to 10,000 with one watcher each: one request and one delivery per change.`,
  operation: 'change',
  sides: [1e2, 1e3, 1e4].map((size): Side => ({
    id: String(size),
    name: size.toLocaleString('en'),
    kind: 'service',
    at: size,
    open: (bench) => openWatchedRooms(bench, bench.settings.quick ? Math.max(10, size / 100) : size),
  })),
  targets: [],
  anywhere: false,
  rounds: 6,
};

export async function openWatchedRooms(bench: Bench, size: number, engine?: Engine): Promise<Contestant> {
  const { quick, connections } = bench.settings;
  const service = await bench.service({ fresh: !quick, engine });
  const run = crypto.randomUUID();
  const installIds = Array.from({ length: size }, (_, index) => `bench-${run}-${index}`);
  const codes = await opened(service.url, installIds);
  const paths = codes.map((code) => `/v1/rooms/${code}/live`);
  const audience = await Audience.gather(bench, { url: service.url, dialect: 'plain', paths, each: 1 });
  const requests = codes.slice(0, CHANGING).map((code): RequestPlan => ({
    method: 'POST',
    path: `/v1/rooms/${code}/state`,
    // The score is computed from the request's number, so that consecutive states differ.
    body: '{"installId":"$installId","state":{"turn":$score}}',
  }));
  // Request n uses plan n and caller n, both modulo the same number, so each room is changed by its host.
  const callers = installIds.slice(0, requests.length).map((installId) => ({ installId }));
  const problems = new Set<string>();
  let from = 0;

  const round = async (seconds: number): Promise<Figures> => {
    await audience.start();
    const [serverBefore, redisBefore] = [await service.serverCpu(), await service.redisCpu()];
    const order = { url: service.url, connections, requests, callers, keyPrefix: '', from, seconds: Math.min(seconds, MOST_SECONDS) };
    const outcome = await bench.load(order);
    const [serverAfter, redisAfter] = [await service.serverCpu(), await service.redisCpu()];
    from = outcome.next;
    for (const [what, times] of Object.entries(outcome.failures)) problems.add(`${what} (${times} times)`);
    const { faults, closed } = await audience.stop(0);
    if (faults > 0) problems.add(`${faults} states were not newer than the one before`);
    if (closed > 0) problems.add(`${closed} watchers were disconnected`);
    const [serverCpu, redisCpu] = [(serverAfter - serverBefore) / outcome.done, (redisAfter - redisBefore) / outcome.done];
    return { cpu: serverCpu + redisCpu, serverCpu, redisCpu, perSecond: outcome.done / outcome.seconds };
  };

  return {
    round,
    audit: async () => [...problems],
    async close() {
      await audience.end();
      if (!quick) await service.stop();
    },
  };
}

/** Creates a room for each host and returns the codes. */
async function opened(url: string, installIds: readonly string[]): Promise<string[]> {
  const api = new Api(url);
  try {
    return await inParallel(installIds, async (installId) => {
      const { body } = await api.expectOk(api.post('/v1/rooms', { installId }));
      return (body as { room: { code: string } }).room.code;
    });
  } finally {
    api.close();
  }
}
