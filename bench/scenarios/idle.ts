import { setTimeout as delay } from 'node:timers/promises';
import { codeOf } from '../../src/features/rooms/model.ts';
import type { Figures } from '../figures.ts';
import { Audience } from '../load/audience.ts';
import { createColyseusRooms } from '../load/colyseus-rooms.ts';
import { openRooms } from '../load/room-changes.ts';
import type { Dialect } from '../load/watchers.ts';
import type { Measured } from '../measure/measured.ts';
import { startColyseus } from '../peers/colyseus-server.ts';
import type { TransportName } from '../peers/colyseus-transports.ts';
import type { Bench, Scenario, Side } from '../scenario.ts';

/**
 * Server memory per watcher of a room that does not change. Every server is fresh and has already served some watchers, so
 * that shared code, buffers and tables exist. Its resident memory is read before and after 10,000 more watchers, each time
 * after a garbage collection.
 */

const full = { rooms: 100, watchersPerRoom: 100, firstWatchersPerRoom: 20 };
const quick = { rooms: 10, watchersPerRoom: 50, firstWatchersPerRoom: 10 };

const collectOnSignal = { NODE_OPTIONS: `--import=${new URL('../processes/collect-on-signal.ts', import.meta.url).href}` };

export const idle: Scenario = {
  name: 'idle-watchers',
  title: '10,000 idle watchers',
  summary: 'Growth of resident memory (RSS) by 10,000 watchers of 100 rooms that do not change, measured after garbage collections.',
  operation: 'watcher',
  sides: [
    side({ id: 'coinop', name: 'coinop', kind: 'service' }, 'plain', async (bench) => {
      const service = await bench.service({ fresh: true, settings: collectOnSignal });
      return { server: service, codes: [...(await openRooms(service, sizeOf(bench).rooms)).keys()] };
    }),
    side({ id: 'uws', name: 'bare uWS', kind: 'floor' }, 'plain', startPeer('rooms-uws.ts')),
    side({ id: 'ws', name: 'ws', kind: 'peer' }, 'plain', startPeer('rooms-ws.ts')),
    side({ id: 'socket.io', name: 'Socket.IO, Redis adapter', kind: 'peer' }, 'socket.io', startPeer('rooms-socket-io.ts')),
    side({ id: 'socketcluster', name: 'SocketCluster', kind: 'peer' }, 'socketcluster', startPeer('rooms-socketcluster.ts')),
    side({ id: 'colyseus', name: 'Colyseus, ws', kind: 'peer' }, 'colyseus', onColyseus('ws')),
    side({ id: 'colyseus-uws', name: 'Colyseus, uWS', kind: 'peer', isFetched: true }, 'colyseus', onColyseus('uws')),
  ],
  targets: [{ what: 'server memory per watcher, bytes', figure: 'watcherBytes', side: 'coinop', most: 2048 }],
  anywhere: false,
  rounds: 1,
  warmUpSeconds: 0,
};

interface Started {
  readonly server: Measured;
  readonly codes: readonly string[];
}

function startPeer(module: string): (bench: Bench) => Promise<Started> {
  return async (bench) => ({
    server: await bench.peer(new URL(`../peers/${module}`, import.meta.url), { redis: true, fresh: true, settings: collectOnSignal }),
    codes: Array.from({ length: sizeOf(bench).rooms }, (_, index) => codeOf(index)),
  });
}

function onColyseus(transport: TransportName): (bench: Bench) => Promise<Started> {
  return async (bench) => {
    const server = await startColyseus(bench, transport, { fresh: true, settings: collectOnSignal });
    return { server, codes: [...(await createColyseusRooms(server, sizeOf(bench).rooms)).keys()] };
  };
}

function side(who: Omit<Side, 'open'>, dialect: Dialect, start: (bench: Bench) => Promise<Started>): Side {
  return {
    ...who,
    async open(bench) {
      const problems: string[] = [];
      return {
        // Each side runs within its round only, because 10,000 sockets for every side at a time are too many for one machine.
        round: () => fill(bench, dialect, start, problems),
        audit: async () => problems,
      };
    },
  };
}

async function fill(bench: Bench, dialect: Dialect, start: (bench: Bench) => Promise<Started>, problems: string[]): Promise<Figures> {
  const { watchersPerRoom, firstWatchersPerRoom, rooms } = sizeOf(bench);
  const { server, codes } = await start(bench);
  const audience = await Audience.empty(bench, dialect);
  try {
    const wanted = { url: server.url, dialect, paths: codes.map((code) => `/v1/rooms/${code}/live`) };
    await audience.open({ ...wanted, each: firstWatchersPerRoom });
    const before = await heldBytes(bench, server);
    await audience.open({ ...wanted, each: watchersPerRoom });
    const after = await heldBytes(bench, server);
    const { closed } = await audience.stop(0);
    if (closed > 0) problems.push(`${closed} watchers were disconnected`);
    return { watcherBytes: (after - before) / (rooms * watchersPerRoom) };
  } finally {
    await audience.end();
    await server.stop();
  }
}

function sizeOf({ settings }: Bench): typeof full {
  return settings.quick ? quick : full;
}

/** Resident memory of a server after a garbage collection. */
async function heldBytes({ settings }: Bench, server: Measured): Promise<number> {
  process.kill(server.pid!, 'SIGUSR2');
  // Waits for the collection, and for V8 to return free pages in the background.
  await delay(settings.quick ? QUICK_COLLECTING_MS : COLLECTING_MS);
  return server.residentBytes();
}

const COLLECTING_MS = 700;
const QUICK_COLLECTING_MS = 200;
