import { Api, inParallel } from '../load/api.ts';
import { Audience } from '../load/audience.ts';
import { Posts } from '../load/posts.ts';
import { onSchedule } from '../load/schedule.ts';
import { percentile } from '../measure/statistics.ts';
import type { Bench, Contestant, Scenario } from '../scenario.ts';

/** Browsers wait for their pairing to be claimed by an app. Measures the time until the browser has the push. */

const CLAIMS_PER_SECOND = 200;
const MOST_SECONDS = 1;

/** Messages of a pairing's channel: `pending`, then `claimed`. */
const MESSAGES = 2;

export const pairing: Scenario = {
  name: 'pairing',
  title: 'Pairing: from claim to push',
  summary: `${CLAIMS_PER_SECOND} claims a second, each of a pairing that a browser watches. Latency counts from the due time of the claim until the browser has the push.`,
  operation: 'pairing',
  sides: [{ id: 'coinop', name: 'coinop', kind: 'service', open: openPairings }],
  targets: [],
  anywhere: true,
  rounds: 6,
  mostSeconds: MOST_SECONDS,
};

async function openPairings(bench: Bench): Promise<Contestant> {
  const service = await bench.service();
  const audience = await Audience.empty(bench, 'plain');
  const posts = await Posts.open(service.url, 32);
  const api = new Api(service.url);
  const problems = new Set<string>();

  /** Creates pairings, each with a watching browser. */
  const watchedTokens = async (count: number): Promise<string[]> => {
    const tokens = await inParallel(Array.from({ length: count }), async () => {
      const { body } = await api.expectOk(api.post('/v1/pair/new', {}));
      return body['token'] as string;
    });
    await audience.open({ url: service.url, dialect: 'plain', paths: tokens.map((token) => `/v1/pair/live?token=${token}`), each: 1 });
    return tokens;
  };

  return {
    async round(seconds) {
      const span = {
        rate: CLAIMS_PER_SECOND,
        seconds,
        signal: bench.signal,
      };
      const tokens = await watchedTokens(Math.round(span.rate * span.seconds));
      const run = crypto.randomUUID();
      const claimedAt = new Float64Array(tokens.length);
      const pending: Promise<void>[] = [];
      const cpuBefore = await service.serverCpu();
      await onSchedule(span, (dueMs, number) => {
        claimedAt[number] = dueMs;
        const claim = posts.post('/v1/pair/claim', { token: tokens[number], installId: `bench-${run}-${number}` });
        pending.push(claim.catch((error: Error) => void problems.add(`a claim was ${error.message}`)));
      });
      await Promise.all(pending);
      const arrivedAt = await audience.lastStateAt({ messages: MESSAGES });
      const cpu = (await service.serverCpu()) - cpuBefore;
      if (arrivedAt.includes(Infinity)) problems.add('a browser never learned that its pairing was claimed');
      await audience.leave();
      const latencies = arrivedAt.map((at, index) => at - claimedAt[index]!).sort();
      return {
        serverCpu: cpu / tokens.length,
        atRate: CLAIMS_PER_SECOND,
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
