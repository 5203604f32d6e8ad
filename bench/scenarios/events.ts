import { credit } from '../../src/features/coins/credit.ts';
import { OUTBOX } from '../../src/redis/outbox.ts';
import { directCaller } from '../load/direct.ts';
import type { Measured } from '../measure/measured.ts';
import { redisMainThreadCpu } from '../measure/redis.ts';
import type { Bench, Contestant, Scenario, Side } from '../scenario.ts';
import { creditBySession } from './coins.ts';
import { CALLERS, httpSide } from './http.ts';

/** The cost of EVENTS=on for a credit: for its script alone, and for a service with the relay. */

/** `always` is the private Redis's setting. With `everysec` Redis answers before the write is on disk, and a script is the larger part. */
export type Fsync = 'always' | 'everysec';
type Switch = 'on' | 'off';

/** Calls that share one EVALSHA: a service that has little to do, one of three busy primaries, one busy Redis. */
const BATCHES = [1, 8, 32];

const SCRIPT_MINUTES = 1;
const CREDIT_MINUTES = 2;

export const eventScenarios: readonly Scenario[] = (['always', 'everysec'] as const).flatMap((fsync) => [script(fsync), credits(fsync)]);

function script(fsync: Fsync): Scenario {
  return {
    name: nameOf('events-script', fsync),
    family: 'events',
    title: `Events: the script of a credit, ${fsync}`,
    summary: `The script of a credit with and without its event, run without a server in batches of ${BATCHES.join(', ')}; appendfsync ${fsync}. CPU is that of Redis's main thread.`,
    operation: 'credit',
    sides: BATCHES.flatMap((size) => (['on', 'off'] as const).map((events) => scriptSide(size, events, fsync))),
    targets: BATCHES.map((size) => ({
      what: `Redis CPU with events, ${size} a batch`,
      figure: 'redisCpu',
      side: `on-${size}`,
      against: `off-${size}`,
      most: 1.3,
    })),
    anywhere: false,
    apart: { minutes: SCRIPT_MINUTES },
  };
}

function scriptSide(size: number, events: Switch, fsync: Fsync): Side {
  return {
    id: `${events}-${size}`,
    name: `EVENTS=${events}, ${size} a batch`,
    kind: 'floor',
    async open(bench): Promise<Contestant> {
      const own = await bench.redis();
      const { redis } = own;
      await redis.config('SET', 'appendfsync', fsync);
      const call = await directCaller(redis, { emits: events === 'on' });
      let made = 0;
      return {
        async round(seconds) {
          const endsAt = performance.now() + seconds * 1000;
          const [madeBefore, cpuBefore] = [made, await redisMainThreadCpu(redis)];
          while (performance.now() < endsAt) {
            const batch = Array.from({ length: size }, () => {
              const number = made++;
              return call(credit, { installId: `bench-${number % CALLERS}`, body: { coins: 1 + (number % 9), key: `bench-${number}` } });
            });
            // One batch at a time: calls of one turn of the event loop share a command.
            await Promise.all(batch);
          }
          const redisCpu = ((await redisMainThreadCpu(redis)) - cpuBefore) / (made - madeBefore);
          // Without a relay the events stay in the outbox.
          const emitted = await redis.llen(OUTBOX);
          if (emitted > 0 !== (events === 'on')) throw new Error(`there are ${emitted} batches of events with EVENTS=${events}`);
          await redis.del(OUTBOX);
          return { redisCpu };
        },
        close: () => own.stop(),
      };
    },
  };
}

function credits(fsync: Fsync): Scenario {
  return {
    name: nameOf('events-credit', fsync),
    family: 'events',
    title: `Events: credit by session, ${fsync}`,
    summary: `POST of a credit with a new key by session, to a service with EVENTS=on and to one with EVENTS=off; appendfsync ${fsync}. CPU is all that server and Redis use, the relay of events and its log included.`,
    operation: 'request',
    sides: [creditSide('on', fsync), creditSide('off', fsync)],
    targets: [{ what: 'server CPU with events', figure: 'serverCpu', side: 'on', against: 'off', most: 1.1 }],
    anywhere: false,
    comparesRedis: true,
    apart: { minutes: CREDIT_MINUTES },
  };
}

function creditSide(events: Switch, fsync: Fsync): Side {
  const servers: Measured[] = [];
  const side = httpSide({
    id: events,
    name: `EVENTS=${events}`,
    kind: 'service',
    server: async (bench) => {
      const service = await eventService(bench, { EVENTS: events }, fsync);
      servers.push(service);
      return service;
    },
    callers: 'sessions',
    requests: [creditBySession],
  });
  return {
    ...side,
    async open(bench) {
      const contestant = await side.open(bench);
      return {
        regimes: contestant.regimes!,
        round: (seconds) => contestant.round(seconds),
        audit: () => contestant.audit!(),
        close: () => servers.pop()!.stop(),
      };
    },
  };
}

/** A service of its own. */
export async function eventService(bench: Bench, settings: Record<string, string>, fsync: Fsync): Promise<Measured> {
  const service = await bench.service({ settings });
  await service.redis?.config('SET', 'appendfsync', fsync);
  return service;
}

function nameOf(name: string, fsync: Fsync): string {
  return fsync === 'always' ? name : `${name}-${fsync}`;
}
