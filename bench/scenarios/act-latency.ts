import { createRoom } from '../../src/features/rooms/create.ts';
import { actInRoom } from '../../src/features/rooms/act.ts';
import type { Encoded } from '../../src/server/http/endpoint.ts';
import { inParallel } from '../load/api.ts';
import { directCaller } from '../load/direct.ts';
import { fullRooms, type FullRoom } from '../load/full-rooms.ts';
import { Party } from '../load/party.ts';
import type { Game } from '../load/players.ts';
import type { Measured } from '../measure/measured.ts';
import { Meter } from '../measure/meter.ts';
import { percentile } from '../measure/statistics.ts';
import { holders } from '../processes/family.ts';
import type { Bench, Contestant, OwnRedis, Scenario } from '../scenario.ts';

/**
 * The time from an act of one player until another player, on another process of the service, has seen it, at half the load that the slower
 * side can take. The floor is the act's script alone, run by EVALSHA with ready-made words, until a subscriber of Redis has its message.
 */

const full = { rooms: 400 };
const quick = { rooms: 40 };

const MOST_SECONDS = 1;
const PLAYERS = 2;

export const actLatency: Scenario = {
  name: 'act-latency',
  family: 'room-acts',
  title: 'From an act to the other player, over two processes',
  summary:
    'Changes of players’ data at half the rate that the slower side takes with 64 under way. The players of a room are on different processes of the service (WORKERS=2), and one of them acts. Latency counts from the due time of an act until the other one has the change.',
  operation: 'act',
  sides: [
    { id: 'coinop', name: 'coinop, two processes', kind: 'service', open: openService },
    { id: 'bare', name: 'the same script by EVALSHA, bare subscriber', kind: 'floor', open: openBare },
  ],
  targets: [
    { what: 'p50 against the same script run bare', figure: 'p50', side: 'coinop', against: 'bare', most: 1.5 },
    { what: 'p99 against the same script run bare', figure: 'p99', side: 'coinop', against: 'bare', most: 2 },
  ],
  anywhere: false,
  mostSeconds: MOST_SECONDS,
  warmUpSeconds: 2,
};

async function openService(bench: Bench): Promise<Contestant> {
  const { rooms } = sizeOf(bench);
  const service = await bench.service({ settings: { WORKERS: '2' } });
  // The kernel chooses the process of a connection: half of the rooms have their players apart.
  const party = await Party.gather(bench, { url: service.url, dialect: 'plain', rooms: await fullRooms(service, 2 * rooms, PLAYERS) });
  const processOf = holders(service.pids, service.port);
  await party.keep((ports) => new Set(ports.map((port) => processOf.get(port))).size === PLAYERS);
  return {
    ...acting(bench, party, service),
    async close() {
      await party.end();
      await service.stop();
    },
  };
}

async function openBare(bench: Bench): Promise<Contestant> {
  const own = await bench.redis();
  const party = await Party.gather(bench, {
    url: own.socketPath,
    dialect: 'bare',
    rooms: await roomsWithoutServer(own, sizeOf(bench).rooms),
  });
  return {
    ...acting(bench, party),
    async close() {
      await party.end();
      await own.stop();
    },
  };
}

function sizeOf({ settings }: Bench): typeof full {
  return settings.quick ? quick : full;
}

/** @param service undefined for the floor, which has no server */
function acting(bench: Bench, party: Party, service?: Measured): Contestant {
  const problems = new Set<string>();
  const play = async (game: Pick<Game, 'seconds' | 'rate' | 'inFlight'>) => {
    const played = await party.play({ movers: 1, ...game });
    for (const problem of played.problems) problems.add(problem);
    return played;
  };
  return {
    async round(seconds) {
      const meter = service && new Meter(service);
      await meter?.begin();
      const { changes, perSecond } = await play({ seconds, inFlight: bench.settings.connections });
      await meter?.end();
      const { serverCpu, redisCpu } = meter?.each(changes) ?? {};
      return { ...(serverCpu === undefined ? {} : { serverCpu, redisCpu: redisCpu! }), perSecond };
    },
    regimes: [
      {
        name: 'half load',
        async round(seconds, rate) {
          const { latencies } = await play({ seconds, rate });
          return {
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

async function roomsWithoutServer({ redis }: OwnRedis, count: number): Promise<FullRoom[]> {
  const call = await directCaller(redis);
  const newRoom = { minPlayers: 1, maxPlayers: PLAYERS, state: '{}', writers: 'host', public: false, tags: {} };
  return inParallel(Array.from({ length: count }).keys().toArray(), async (room) => {
    const installIds = Array.from({ length: PLAYERS }, (_, place) => `bench-bare-${room}-${place}`);
    const [host, guest] = installIds as [string, string];
    const { text } = (await call(createRoom, { installId: host, body: newRoom })) as Encoded;
    const { code } = (JSON.parse(text) as { room: { code: string } }).room;
    await call(actInRoom, { installId: guest, params: { code, action: 'join' } });
    await call(actInRoom, { installId: host, params: { code, action: 'start' } });
    return { code, installIds };
  });
}
