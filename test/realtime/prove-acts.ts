import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, type Redis } from 'ioredis';
import { roomKeys } from '../../src/features/rooms/model.ts';
import { startProxiedCluster } from '../cluster-proxy.ts';
import type { ActingPlayer } from './acting-player.ts';
import { ActingRoom, sum, type Plan, type Standing } from './acting-rooms.ts';
import type { Child } from './child.ts';
import { read } from './storm.ts';

/** Proofs of acts, messages and private data over the channels. `prove.ts` runs them. */

export interface Stand {
  child(settings?: Record<string, string>): Promise<Child>;
  /** Stops everything that runs. */
  stopAll(): Promise<unknown>;
  forget(child: Child): void;
  readonly commands: Redis;
  report(what: string, figure: number | string, bound?: string, held?: boolean): void;
  exactly(what: string, figure: number, bound: number): void;
}

const usual: Plan = { data: 6, messages: 3, secrets: 4, everyMs: 700, textBytes: 40 };

/** Large pushes fill the buffers of a link that nobody reads: the kernel's buffers take some megabytes. */
const heavy: Plan = { data: 5, messages: 2, secrets: 1, everyMs: 300, textBytes: 950, stateBytes: 8000 };
const directed: Plan = { ...usual, directed: true };

interface Play {
  readonly name: string;
  readonly stand: Stand;
  readonly running: readonly Child[];
  readonly plans: readonly Plan[];
  readonly isOver: () => boolean;
  /** The hash of a room. */
  readonly redis: Pick<Redis, 'hget'>;
  readonly during?: (rooms: readonly ActingRoom[]) => Promise<void>;
}

/** Plays in a room for each plan, and compares the received messages with the data in Redis. */
async function play({ name, stand: { report, exactly }, running, plans, isOver, redis, during }: Play): Promise<void> {
  const portOf = (): number => running[Math.floor(Math.random() * running.length)]!.port;
  const url = running[0]!.url;
  const rooms = await Promise.all(
    plans.map((plan, index) => ActingRoom.open(`acts-${name.replaceAll(/[^a-z0-9]+/gi, '-')}-${index}`, { url, portOf, players: 8, plan })),
  );
  const startedAt = performance.now();
  await Promise.all([...rooms.map((room) => room.play(isOver)), during?.(rooms)]);
  const seconds = (performance.now() - startedAt) / 1000;
  const standing = async (code: string): Promise<Standing> => ({
    room: await read(running[0]!.url, code),
    messages: Number((await redis.hget(roomKeys.room(code), 'messages')) ?? 0),
  });
  const found = (await Promise.all(rooms.map((room) => room.settled(standing)))).flat();
  const players = rooms.flatMap((room) => room.players);
  const total = (figure: (player: ActingPlayer) => number): number => sum(players.map(figure));
  const ofAll = (figure: 'acted' | 'unknowns') => total(({ last }) => last.data[figure] + last.message[figure] + last.private[figure]);
  report(`${name}: rooms of 8 players; seconds`, `${rooms.length}; ${seconds.toFixed(0)}`);
  report(
    '  acts that were acted; replayed; refused over a budget',
    `${ofAll('acted')}; ${total((p) => p.replayed)}; ${total((p) => p.refused)}`,
  );
  report('  acts whose outcome the service did not know', ofAll('unknowns'));
  report('  messages heard; missed, and named so', `${total((p) => p.messages)}; ${total((p) => p.missed)}`);
  report('  private parts set; reconnections', `${sum(rooms.map(({ secrets }) => secrets))}; ${total((p) => p.reconnects)}`);
  report('  megabytes looked through for what is for others', total(({ bytes }) => bytes) / 1e6);
  exactly('  acts lost, done twice or out of order, and private bytes to others', found.length, 0);
  for (const fault of found.slice(0, 10)) console.log(`    ${fault}`);
  for (const room of rooms) room.leave();
  exactly('  private bytes in logs', running.filter((child) => child.output().includes('secret-')).length, 0);
}

/** Begins with the first call: on a slow machine it takes seconds to open the rooms. */
function forSeconds(seconds: number): () => boolean {
  let endsAt: number | undefined;
  return () => performance.now() > (endsAt ??= performance.now() + seconds * 1000);
}

/** Counts what Redis publishes about private parts: their text never travels by Pub/Sub. */
async function listening(commands: Redis): Promise<{ heard(): number; close(): void }> {
  const subscriber = commands.duplicate();
  let heard = 0;
  subscriber.on('pmessage', (_pattern: string, _channel: string, message: string) => {
    if (message.includes('secret-')) heard++;
  });
  await subscriber.psubscribe('*');
  return { heard: () => heard, close: () => subscriber.disconnect() };
}

/** Bursts on two processes, links that nobody reads for some seconds, and links that break. */
export async function proveActs(stand: Stand): Promise<void> {
  const running = await Promise.all([stand.child(), stand.child()]);
  const ear = await listening(stand.commands);
  const isOver = forSeconds(20);
  const plans = [...Array.from({ length: 4 }, () => [usual, directed]).flat(), heavy, heavy];
  const during = async (rooms: readonly ActingRoom[]): Promise<void> => {
    const slow = rooms.slice(-2).flatMap(({ players }) => players.slice(4));
    while (!isOver()) {
      for (const player of slow) player.pause();
      for (let cut = 0; cut < 40; cut++) {
        await delay(500);
        const { players } = rooms[Math.floor(Math.random() * 8)]!;
        players[Math.floor(Math.random() * players.length)]!.cut();
      }
      for (const player of slow) player.resume();
    }
  };
  await play({ name: 'bursts, slow links and cuts', stand, running, plans, isOver, redis: stand.commands, during });
  stand.exactly('  messages of Redis with private bytes', ear.heard(), 0);
  ear.close();
  await stand.stopAll();
}

/** A process is killed among its players, who go to the other one. */
export async function proveActsKilled(stand: Stand): Promise<void> {
  const running = await Promise.all([stand.child(), stand.child()]);
  const during = async (): Promise<void> => {
    await delay(4000);
    const [doomed] = running.splice(1, 1) as [Child];
    await doomed.stop('SIGKILL');
    stand.forget(doomed);
  };
  const plans = Array.from({ length: 8 }, () => usual);
  await play({ name: 'a process killed', stand, running, plans, isOver: forSeconds(12), redis: stand.commands, during });
  await stand.stopAll();
}

/** A primary is killed. Each answer has waited until a replica had the write. When one replica takes over, the other acknowledges writes. */
export async function proveActsFailover(stand: Stand): Promise<void> {
  const cluster = await startProxiedCluster({ replicas: 2 });
  const settings = { REDIS_URL: cluster.url, REDIS_WAIT_REPLICAS: '1' };
  const running = await Promise.all([stand.child(settings), stand.child(settings)]);
  const client = new Cluster([{ host: '127.0.0.1', port: cluster.nodes[0]!.port }]);
  const target = cluster.nodes.find(({ role }) => role === 'primary')!;
  // The players go on for some seconds after it, however long it takes.
  let isAfter: (() => boolean) | undefined;
  const during = async (): Promise<void> => {
    await delay(4000);
    // Delays replication: data that is under way is lost with the primary.
    await cluster.lag(target, 20);
    await delay(1000);
    await cluster.kill(target);
    await cluster.untilFailedOver(target).finally(() => (isAfter = forSeconds(8)));
  };
  const isOver = (): boolean => isAfter?.() === true;
  const plans = Array.from({ length: 12 }, () => usual);
  try {
    await play({ name: 'a failover, REDIS_WAIT_REPLICAS=1', stand, running, plans, isOver, redis: client, during });
  } finally {
    client.disconnect();
    await stand.stopAll();
    await cluster[Symbol.asyncDispose]();
  }
}

/** Sets this many private parts, over two processes whose links break now and then. */
export async function provePrivate(stand: Stand, changes: number): Promise<void> {
  const running = await Promise.all([stand.child(), stand.child()]);
  const ear = await listening(stand.commands);
  const plan: Plan = { data: 0, messages: 0, secrets: 18, everyMs: 650, textBytes: 0 };
  let all: readonly ActingRoom[] = [];
  const isOver = (): boolean => sum(all.map(({ secrets }) => secrets)) >= changes;
  const during = async (rooms: readonly ActingRoom[]): Promise<void> => {
    all = rooms;
    while (!isOver()) {
      await delay(500);
      const { players } = rooms[Math.floor(Math.random() * rooms.length)]!;
      players[Math.floor(Math.random() * players.length)]!.cut();
    }
  };
  const plans = Array.from({ length: 30 }, () => plan);
  await play({ name: `${changes.toLocaleString('en')} private parts`, stand, running, plans, isOver, redis: stand.commands, during });
  stand.exactly('  messages of Redis with private bytes', ear.heard(), 0);
  ear.close();
  await stand.stopAll();
}
