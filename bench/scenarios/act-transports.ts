import { fullRooms } from '../load/full-rooms.ts';
import { Party } from '../load/party.ts';
import type { Game, SeatsToTake } from '../load/players.ts';
import { Meter } from '../measure/meter.ts';
import { percentile } from '../measure/statistics.ts';
import type { Bench, Contestant, Scenario, Side } from '../scenario.ts';

/**
 * The same acts over a room's channel and over HTTP. On both sides both players of a room watch over their channels, so both sides push
 * equally often. The rooms change so rarely that each change is pushed. An act over HTTP is answered with the whole room, and an act over
 * the channel with `acted`, as in real use.
 */

const full = { rooms: 300 };
const quick = { rooms: 30 };

const MOST_SECONDS = 1;

export const actTransports: Scenario = {
  name: 'act-transports',
  family: 'room-acts',
  title: 'Acts over the channel and over HTTP',
  summary:
    'Changes of players’ data in 300 rooms of two players, who both watch: 64 under way at a time, and at half the rate of the slower side. The CPU is that of an act and of its two pushes. Latency counts from the due time of an act until the other player has the change.',
  operation: 'act',
  sides: [side({ id: 'channel', name: 'over the channel' }, 'plain'), side({ id: 'http', name: 'over HTTP' }, 'http')],
  targets: [{ what: 'server CPU against the same act over HTTP', figure: 'serverCpu', side: 'channel', against: 'http', most: 0.6 }],
  anywhere: true,
  mostSeconds: MOST_SECONDS,
  warmUpSeconds: 2,
};

function side(who: Pick<Side, 'id' | 'name'>, dialect: SeatsToTake['dialect']): Side {
  return { ...who, kind: 'service', open: (bench) => acting(bench, dialect) };
}

async function acting(bench: Bench, dialect: SeatsToTake['dialect']): Promise<Contestant> {
  const { rooms } = bench.settings.quick ? quick : full;
  const service = await bench.service();
  const party = await Party.gather(bench, { url: service.url, dialect, rooms: await fullRooms(service, rooms, 2) });
  const problems = new Set<string>();
  const play = async (game: Pick<Game, 'seconds' | 'rate' | 'inFlight'>) => {
    const meter = new Meter(service);
    await meter.begin();
    const played = await party.play({ movers: 2, ...game });
    await meter.end();
    for (const problem of played.problems) problems.add(problem);
    return { ...played, ...meter.each(played.changes) };
  };
  return {
    async round(seconds) {
      const { serverCpu, redisCpu, perSecond } = await play({ seconds, inFlight: bench.settings.connections });
      return { serverCpu, redisCpu, perSecond };
    },
    regimes: [
      {
        name: 'half load',
        async round(seconds, rate) {
          const { serverCpu, pushes, latencies } = await play({ seconds, rate });
          return {
            serverCpuHalfLoad: serverCpu,
            pushes: pushes / (2 * rooms) / seconds,
            atRate: rate,
            p50: percentile(latencies, 0.5),
            p99: percentile(latencies, 0.99),
            p999: percentile(latencies, 0.999),
          };
        },
      },
    ],
    audit: async () => [...problems],
    close: () => party.end(),
  };
}
