import { codeOf } from '../../src/features/rooms/model.ts';
import { inParallel } from '../load/api.ts';
import { fullRooms, type FullRoom } from '../load/full-rooms.ts';
import { Party } from '../load/party.ts';
import type { SeatsToTake } from '../load/players.ts';
import type { Measured } from '../measure/measured.ts';
import { Meter } from '../measure/meter.ts';
import { percentile } from '../measure/statistics.ts';
import { startColyseus } from '../peers/colyseus-server.ts';
import type { TransportName } from '../peers/colyseus-transports.ts';
import type { Bench, Contestant, Scenario, Side } from '../scenario.ts';

/**
 * Rooms whose players all change their own data at a steady rate and see each other's: positions in a race. The service gets each
 * change as an act over the channel, writes it to Redis and answers it; Colyseus gets it as a message and keeps it in memory alone.
 * Both push equally often: Colyseus's patch rate is set to the interval at which the service pushes. Afterwards every player must have the
 * last change of each player.
 */

const PLAYERS = 8;
const full = { rooms: 50, changesPerSecond: 20 };
const quick = { rooms: 6, changesPerSecond: 20 };

/** In a shorter round a room gets too few pushes to tell their rate. */
const SECONDS = 1;
const QUICK_SECONDS = 0.3;

/** The interval at which a room of the service pushes at most (PUSH_INTERVAL_MS in topic.ts). */
const PATCH_MILLISECONDS = 17;

export const seatData: Scenario = {
  name: 'seat-data',
  family: 'room-acts',
  title: 'Seat data: 50 rooms of 8 players, 20 changes a second each',
  summary:
    '8,000 changes a second of the own data of 400 players, each seen by the 8 players of its room. For coinop acts over the channel, on disk when answered; for Colyseus messages, kept in memory and not answered. The players of coinop ask for patches, which Colyseus always sends. Latency counts from the due time of a change until another player has it.',
  operation: 'change',
  sides: [
    { id: 'coinop', name: 'coinop, patches', kind: 'service', open: (bench) => openService(bench, 'patched') },
    { id: 'bare', name: 'uWS + one EVALSHA a push', kind: 'floor', open: openBare },
    colyseus({ id: 'colyseus', name: 'Colyseus, ws', transport: 'ws' }),
    colyseus({ id: 'colyseus-uws', name: 'Colyseus, uWS', transport: 'uws' }),
    { id: 'whole', name: 'coinop, whole rooms', kind: 'service', open: (bench) => openService(bench, 'plain') },
  ],
  targets: [
    { what: 'server CPU against the system calls alone', figure: 'serverCpu', side: 'coinop', against: 'bare', most: 1.3 },
    { what: 'server CPU against Colyseus on ws', figure: 'serverCpu', side: 'coinop', against: 'colyseus', most: 0.9 },
    { what: 'server CPU against Colyseus on uWebSockets.js', figure: 'serverCpu', side: 'coinop', against: 'colyseus-uws', most: 1.15 },
    { what: 'CPU of Redis an act, µs', figure: 'redisCpu', side: 'coinop', most: 16 },
  ],
  anywhere: true,
  warmUpSeconds: 2,
};

function sizeOf({ settings }: Bench): typeof full {
  return settings.quick ? quick : full;
}

async function openService(bench: Bench, dialect: 'patched' | 'plain'): Promise<Contestant> {
  const service = await bench.service();
  return playing(bench, service, dialect, await fullRooms(service, sizeOf(bench).rooms, PLAYERS));
}

/** A server that does the system calls of a push alone (peers/seats-uws.ts). */
async function openBare(bench: Bench): Promise<Contestant> {
  const settings = { PATCH_MILLISECONDS: String(PATCH_MILLISECONDS), PLAYERS: String(PLAYERS) };
  const server = await bench.peer(new URL('../peers/seats-uws.ts', import.meta.url), { fresh: true, redis: true, settings });
  const installIds = Array.from({ length: PLAYERS }, (_, place) => `bench-${place}`);
  const rooms = Array.from({ length: sizeOf(bench).rooms }, (_, index) => ({ code: codeOf(index), installIds }));
  const contestant = await playing(bench, server, 'patched', rooms);
  return {
    ...contestant,
    async close() {
      await contestant.close?.();
      await server.stop();
    },
  };
}

function colyseus({ transport, ...side }: Pick<Side, 'id' | 'name'> & { transport: TransportName }): Side {
  return {
    ...side,
    kind: 'peer',
    isFetched: transport === 'uws',
    async open(bench) {
      const module = new URL('../peers/seats-colyseus.ts', import.meta.url);
      const settings = { PATCH_MILLISECONDS: String(PATCH_MILLISECONDS) };
      const server = await startColyseus(bench, transport, { fresh: true, settings }, module);
      const contestant = await playing(bench, server, 'colyseus', await colyseusRooms(server, sizeOf(bench).rooms));
      return {
        ...contestant,
        async close() {
          await contestant.close?.();
          await server.stop();
        },
      };
    },
  };
}

async function colyseusRooms({ url }: Measured, count: number): Promise<FullRoom[]> {
  const installIds = Array.from({ length: PLAYERS }, (_, place) => `player ${place + 1}`);
  const codes = Array.from({ length: count }, (_, index) => codeOf(index));
  return inParallel(codes, async (code) => {
    const response = await fetch(new URL('/matchmake/create/seats', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    });
    if (!response.ok) throw new Error(`Colyseus created no room: ${response.status} ${await response.text()}`);
    await response.body?.cancel();
    return { code, installIds };
  });
}

async function playing(bench: Bench, server: Measured, dialect: SeatsToTake['dialect'], rooms: readonly FullRoom[]): Promise<Contestant> {
  const party = await Party.gather(bench, { url: server.url, dialect, rooms });
  const problems = new Set<string>();
  const rate = rooms.length * PLAYERS * sizeOf(bench).changesPerSecond;
  return {
    async round(given) {
      const { quick: isQuick, url } = bench.settings;
      const seconds = url !== undefined ? given : isQuick ? QUICK_SECONDS : SECONDS;
      const meter = new Meter(server);
      await meter.begin();
      const { changes, pushes, latencies, problems: found } = await party.play({ movers: PLAYERS, rate, seconds });
      await meter.end();
      for (const problem of found) problems.add(problem);
      const { serverCpu, redisCpu } = meter.each(changes);
      return {
        serverCpu,
        ...(dialect === 'colyseus' ? {} : { redisCpu }),
        pushes: pushes / (rooms.length * PLAYERS) / seconds,
        atRate: rate,
        p50: percentile(latencies, 0.5),
        p99: percentile(latencies, 0.99),
        p999: percentile(latencies, 0.999),
      };
    },
    audit: async () => [...problems],
    close: () => party.end(),
  };
}
