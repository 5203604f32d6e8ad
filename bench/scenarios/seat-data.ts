import { codeOf } from '../../src/features/rooms/model.ts';
import { Api, inParallel } from '../load/api.ts';
import { PLAYERS_A_ROOM } from '../load/player-moves.ts';
import type { Game, Played, SeatsToTake } from '../load/players.ts';
import type { Measured } from '../measure/measured.ts';
import { Meter } from '../measure/meter.ts';
import { percentile } from '../measure/statistics.ts';
import { startColyseus } from '../peers/colyseus-server.ts';
import type { TransportName } from '../peers/colyseus-transports.ts';
import type { Child } from '../processes/child.ts';
import type { Bench, Contestant, Scenario, Side } from '../scenario.ts';

/**
 * Rooms whose players all change their own data at a steady rate and see each other's: positions in a race. The service gets each
 * change as an act over the channel, writes it to Redis and answers it; Colyseus gets it as a message and keeps it in memory alone.
 * Both send what has changed about as often: Colyseus's patch rate is set to the interval at which the service pushes.
 */

const full = { rooms: 50, changesPerSecond: 20 };
const quick = { rooms: 6, changesPerSecond: 20 };

/** A shorter round has too few patches of a room. */
const SECONDS = 1;
const QUICK_SECONDS = 0.3;

/**
 * The service sends a state at most every 17 ms, and then waits for a timer that fires up to a millisecond late. Node's interval of
 * Colyseus does so less often.
 */
const PATCH_MILLISECONDS = 17;

/** The pushes of two sides differ by less where they are as many. */
const PROCESSES = 2;

export const seatData: Scenario = {
  name: 'seat-data',
  family: 'room-acts',
  title: 'Seat data: 50 rooms of 8 players, 20 changes a second each',
  summary:
    '8,000 changes a second of the own data of 400 players, each seen by the 8 players of its room. For coinop acts over the channel, on disk when answered; for Colyseus messages, kept in memory and not answered. Latency counts from the due time of a change until another player has it.',
  operation: 'change',
  sides: [
    { id: 'coinop', name: 'coinop', kind: 'service', open: openService },
    colyseus({ id: 'colyseus', name: 'Colyseus, ws', transport: 'ws' }),
    colyseus({ id: 'colyseus-uws', name: 'Colyseus, uWS', transport: 'uws' }),
  ],
  targets: [
    { what: 'server CPU against Colyseus on ws', figure: 'serverCpu', side: 'coinop', against: 'colyseus', most: 0.7 },
    { what: 'server CPU against Colyseus on uWebSockets.js', figure: 'serverCpu', side: 'coinop', against: 'colyseus-uws', most: 1 },
  ],
  anywhere: true,
  warmUpSeconds: 2,
};

function sizeOf({ settings }: Bench): typeof full {
  return settings.quick ? quick : full;
}

async function openService(bench: Bench): Promise<Contestant> {
  const service = await bench.service();
  return playing(bench, service, 'plain', await fullRooms(service, sizeOf(bench).rooms));
}

function colyseus({ transport, ...side }: Pick<Side, 'id' | 'name'> & { transport: TransportName }): Side {
  return {
    ...side,
    kind: 'peer',
    async open(bench) {
      const module = new URL('../peers/seats-colyseus.ts', import.meta.url);
      const settings = { PATCH_MILLISECONDS: String(PATCH_MILLISECONDS) };
      const server = await startColyseus(bench, transport, { fresh: true, settings }, module);
      const codes = Array.from({ length: sizeOf(bench).rooms }, (_, index) => codeOf(index));
      await inParallel(codes, (code) => createSeats(server, code));
      const contestant = await playing(
        bench,
        server,
        'colyseus',
        codes.map((code) => ({ code, installIds: [] })),
      );
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

async function createSeats({ url }: Measured, code: string): Promise<void> {
  const response = await fetch(new URL('/matchmake/create/seats', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  if (!response.ok) throw new Error(`Colyseus created no room: ${response.status} ${await response.text()}`);
  await response.body?.cancel();
}

/** Opens rooms in which all seats are taken, and starts their games. */
export async function fullRooms({ url }: Measured, count: number, players = PLAYERS_A_ROOM): Promise<SeatsToTake['rooms']> {
  const api = new Api(url);
  const run = crypto.randomUUID();
  try {
    return await inParallel(Array.from({ length: count }).keys().toArray(), async (room) => {
      const installIds = Array.from({ length: players }, (_, place) => `bench-${run}-${room}-${place}`);
      const [host] = installIds as [string];
      const { body } = await api.expectOk(api.post('/v1/rooms', { installId: host, maxPlayers: players }));
      const { code } = (body as { room: { code: string } }).room;
      for (const installId of installIds.slice(1)) await api.expectOk(api.post(`/v1/rooms/${code}/join`, { installId }));
      await api.expectOk(api.post(`/v1/rooms/${code}/start`, { installId: host }));
      return { code, installIds };
    });
  } finally {
    api.close();
  }
}

async function playing(bench: Bench, server: Measured, dialect: SeatsToTake['dialect'], rooms: SeatsToTake['rooms']): Promise<Contestant> {
  const module = new URL('../load/players.ts', import.meta.url);
  const children: Child[] = await Promise.all(Array.from({ length: PROCESSES }, () => bench.child(module)));
  const askAll = <Answer>(question: string, value: (index: number) => unknown): Promise<Answer[]> =>
    Promise.all(children.map((child, index) => child.ask<Answer>(question, value(index))));
  await askAll('take', (process): SeatsToTake => ({
    url: server.url,
    dialect,
    rooms: rooms.filter((_, index) => index % PROCESSES === process),
  }));
  const problems = new Set<string>();
  const players = rooms.length * PLAYERS_A_ROOM;

  return {
    async round(given) {
      const { quick: isQuick, url } = bench.settings;
      const seconds = url !== undefined ? given : isQuick ? QUICK_SECONDS : SECONDS;
      const meter = new Meter(server);
      await meter.begin();
      const parts = await askAll<Played>('play', (): Game => ({ rate: sizeOf(bench).changesPerSecond, seconds }));
      await meter.end();
      for (const part of parts) for (const problem of part.problems) problems.add(problem);
      const changes = parts.reduce((sum, part) => sum + part.changes, 0);
      const pushes = parts.reduce((sum, part) => sum + part.pushes, 0);
      const latencies = parts.flatMap((part) => [...part.latencies]).sort((one, other) => one - other);
      const { serverCpu, redisCpu } = meter.each(changes);
      return {
        serverCpu,
        ...(dialect === 'plain' ? { redisCpu } : {}),
        pushes: pushes / players / seconds,
        atRate: players * sizeOf(bench).changesPerSecond,
        p50: percentile(latencies, 0.5),
        p99: percentile(latencies, 0.99),
        p999: percentile(latencies, 0.999),
      };
    },
    audit: async () => [...problems],
    async close() {
      await Promise.all(children.map((child) => child.stop()));
    },
  };
}
