import { createRoom } from '../../src/features/rooms/create.ts';
import { actInRoom } from '../../src/features/rooms/act.ts';
import type { Encoded } from '../../src/server/http/endpoint.ts';
import { inParallel } from '../load/api.ts';
import { directCaller } from '../load/direct.ts';
import { fullRooms, type FullRoom } from '../load/full-rooms.ts';
import { Party } from '../load/party.ts';
import { Meter } from '../measure/meter.ts';
import { percentile } from '../measure/statistics.ts';
import { holders } from '../processes/family.ts';
import type { Bench, Contestant, OwnRedis, Scenario } from '../scenario.ts';

/**
 * From an act of one player until another player, on another process of the service, has seen it: at half of what two cores take with the
 * load beside. The floor is the act's script alone, run by EVALSHA with ready-made words, until a subscriber of Redis has its message.
 */

const full = { rooms: 400, actsPerSecond: 2000 };
const quick = { rooms: 40, actsPerSecond: 200 };

const MOST_SECONDS = 1;
const PLAYERS = 2;

export const actLatency: Scenario = {
  name: 'act-latency',
  family: 'room-acts',
  title: 'From an act to the other player, over two processes',
  summary:
    '2,000 changes of players’ data a second, about half of what two cores take. The players of a room are on different processes of the service (WORKERS=2), and one of them acts. Latency counts from the due time of an act until the other one has the change.',
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
  const contestant = acting(bench, party);
  return {
    ...contestant,
    async round(seconds) {
      const meter = new Meter(service);
      await meter.begin();
      const figures = await contestant.round(seconds);
      await meter.end();
      const { serverCpu, redisCpu } = meter.each(figures.atRate! * seconds);
      return { serverCpu, redisCpu, ...figures };
    },
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

function acting(bench: Bench, party: Party): Contestant {
  const { actsPerSecond } = sizeOf(bench);
  const problems = new Set<string>();
  return {
    async round(seconds) {
      const { latencies, problems: found } = await party.play({ movers: 1, rate: actsPerSecond, seconds });
      for (const problem of found) problems.add(problem);
      return {
        atRate: actsPerSecond,
        p50: percentile(latencies, 0.5),
        p99: percentile(latencies, 0.99),
        p999: percentile(latencies, 0.999),
      };
    },
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
