import type { Measured } from '../measure/measured.ts';
import type { Bench, Contestant, Scenario, Side, Target } from '../scenario.ts';
import { submit, top } from './boards.ts';
import { balance, creditInstall, creditReplay, creditSession, mixedDay } from './coins.ts';
import { health } from './health.ts';

/**
 * The long latencies of the HTTP scenarios: the service beside its floor at half load, for long enough that p99.9 is meaningful. If
 * requests write, both run with each setting of `appendfsync`.
 */

/** Twelve rounds add up to 24 s of load for each figure. Fewer and longer ones gave wider intervals. */
const ROUNDS = 12;
const SECONDS = 2;

/** Only the rate of the first saturated round is used: half of it is the half load. */
const SATURATED_SECONDS = 0.3;

/** `always` is the private Redis's setting. With `everysec` Redis answers before the write is on disk. */
type Fsync = 'always' | 'everysec';

export const tails: readonly Scenario[] = [
  ...[health, top, balance].map((scenario) => tailOf(scenario, ['always'])),
  ...[submit, creditInstall, creditSession, creditReplay, mixedDay].map((scenario) => tailOf(scenario, ['always', 'everysec'])),
];

function tailOf({ name, title, operation, summary, sides }: Scenario, fsyncs: readonly Fsync[]): Scenario {
  const service = sides[0]!;
  const floor = sides.find(({ kind }) => kind === 'floor')!;
  const isWriting = fsyncs.length > 1;
  return {
    name: `tail-${name}`,
    family: 'tail',
    title: `Tail: ${title[0]!.toLowerCase()}${title.slice(1)}`,
    summary: `${summary} At half load, ${ROUNDS * SECONDS} s for each side.`,
    operation,
    sides: fsyncs.flatMap((fsync) => [service, floor].map((side) => longer(side, fsync, isWriting))),
    targets: fsyncs.map((fsync): Target => {
      const what = `p99 at half load against ${floor.name}${isWriting ? `, appendfsync ${fsync}` : ''}`;
      return { what, figure: 'p99', side: idOf(service, fsync), against: idOf(floor, fsync), most: 1.5 };
    }),
    anywhere: false,
    rounds: ROUNDS,
    apart: { minutes: isWriting ? 3.5 : 2 },
  };
}

function idOf({ id }: Side, fsync: Fsync): string {
  return fsync === 'always' ? id : `${id}-${fsync}`;
}

/** The side with long rounds at half load. */
function longer(side: Side, fsync: Fsync, isWriting: boolean): Side {
  const { name, kind } = side;
  return {
    id: idOf(side, fsync),
    name: isWriting ? `${name}, ${fsync}` : name,
    kind,
    async open(bench) {
      const servers: Measured[] = [];
      const contestant = await side.open(noting(bench, servers));
      const server = servers[0]!;
      // All sides and scenarios share the service, so each round sets `appendfsync` again.
      const set = async (): Promise<unknown> => server.redis?.config('SET', 'appendfsync', fsync);
      const halfLoad = contestant.regimes![0]!;
      return {
        async round(seconds) {
          await set();
          const { perSecond } = await contestant.round(Math.min(seconds, SATURATED_SECONDS));
          return { perSecond };
        },
        regimes: [
          {
            name: halfLoad.name,
            async round(seconds, rate) {
              await set();
              return halfLoad.round(bench.settings.quick ? seconds : SECONDS, rate);
            },
          },
        ],
        audit: () => contestant.audit?.() ?? Promise.resolve([]),
        async close() {
          await contestant.close?.();
          if (kind === 'service') await server.redis?.config('SET', 'appendfsync', 'always');
          else await server.stop();
        },
      } satisfies Contestant;
    },
  };
}

/** A bench that keeps a list of the servers that it returns. Floors are fresh, because their audits count all entries of their Redis. */
function noting(bench: Bench, servers: Measured[]): Bench {
  const noted = async (starting: Promise<Measured>): Promise<Measured> => {
    const server = await starting;
    servers.push(server);
    return server;
  };
  return {
    settings: bench.settings,
    signal: bench.signal,
    hasWrk: false,
    service: (options) => noted(bench.service(options)),
    peer: (module, options) => noted(bench.peer(module, { ...options, fresh: true })),
    redis: () => bench.redis(),
    load: (order, around) => bench.load(order, around),
    wrk: (order) => bench.wrk(order),
    child: (module, options) => bench.child(module, options),
    doing: (what) => bench.doing(what),
  };
}
