import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { freePort } from '../free-port.ts';
import { MAX_PLAYERS } from '../../src/features/rooms/model.ts';
import { startChild, startTcpRedis, type Child } from '../realtime/child.ts';
import { post } from '../realtime/storm.ts';
import { fillFullestAccount } from '../server/fullest-account.ts';
import { processCpu } from '../server/worst-body/cpu.ts';
import { burdenedKeys, burdens, fillBurdened, type Burden, type Burdened } from './burdens.ts';
import { bystanders, type Met } from './bystanders.ts';
import { fillList, LIST_CHANGES_MS } from './flooded-list.ts';
import { BEGUN, floods, type Flood, type Target } from './floods.ts';

/**
 * Proves that a flood from one address does not noticeably slow down other addresses: `npm run prove:floods`, or with
 * `-- --only health` the floods whose name holds the word. Each flood of floods.ts comes over one connection and over sixty, as fast as
 * loopback takes it. Then the burdens of burdens.ts: many webhooks, and costly requests of one server key. Prints a table, and exits with 1 if
 * a bound is not held.
 */
const { values } = parseArgs({
  options: { only: { type: 'string' }, seconds: { type: 'string', default: '4' }, workers: { type: 'string', default: '1' } },
});
const milliseconds = Number(values.seconds) * 1000;

/** Of /health and of a credit, for clients of other addresses. */
const BOUND_MS = 50;

const WARM_UP_MS = 2000;
const QUIET_MS = 5000;

const FLOODER = new URL('flooder.ts', import.meta.url).pathname;
const FLOODING_ADDRESS = '127.0.9.9';

const folder = mkdtempSync(join(tmpdir(), 'coinop-floods-'));
const redis = await startTcpRedis(folder);
const settings = { REDIS_URL: redis.url, DATA_DIR: folder, WORKERS: values.workers };
const { fullest, game } = await fill();
const commands = new Redis({ path: redis.socketPath });
const list = await fillList(commands);
const metricsPort = Number(await freePort());
// With a trusted proxy the service serves requests with every Host, as in production.
const service = await startChild({ ...settings, RATE_LIMIT: 'on', METRICS_PORT: String(metricsPort), TRUSTED_PROXIES: '192.0.2.1' });
let isHeld = true;

try {
  const { room } = await post(service.url, '/v1/rooms', { installId: 'flooded-room-host' });
  const { token } = await post(service.url, '/v1/pair/new', {});
  const target: Target = { host: `127.0.0.1:${service.port}`, room: room.code, pairingToken: token, fullest, game, list: list.target };
  // The first requests of each kind cost more, because V8 compiles and a thread makes the pages.
  await Promise.all(['/docs', '/docs/channels', '/docs/errors', '/client.js'].map((path) => fetch(service.url + path)));
  await bystanders(service.port, WARM_UP_MS);
  console.log(`${'flood'.padEnd(58)} connections  sent MB/s   opened  health p99  credit p99  server CPU   memory  refused`);
  await measure(undefined, 0, target);
  for (const flood of floods.filter(({ name }) => name.includes(values.only ?? '')))
    for (const connections of flood.connections ?? [1, 60]) await measure(flood, connections, target);
  await measure(undefined, 0, target);
  await measureBurdens();
} finally {
  commands.disconnect();
  await service.stop();
  await redis.stop();
  rmSync(folder, { recursive: true });
}
if (!isHeld) process.exitCode = 1;

async function measure(flood: Flood | undefined, connections: number, target: Target): Promise<void> {
  // The address may open its sockets at once only after a pause: its limit is 200 requests at once and 50 a second.
  if (flood?.perSecond !== undefined) await pause(QUIET_MS);
  const flooding = flood === undefined ? undefined : await startFlood(flood, connections, target);
  const cpuBefore = processCpu(service.pid);
  const changing = flood?.changesList === true ? setInterval(() => void list.change(), LIST_CHANGES_MS) : undefined;
  const met = await bystanders(service.port, milliseconds);
  clearInterval(changing);
  const cores = (processCpu(service.pid) - cpuBefore) / 1000 / milliseconds;
  const sent = (await flooding?.ended) ?? { sentBytes: 0, opened: 0 };
  // Without a flood the row shows the latency of the machine itself.
  printRow(flood?.name, connections, { met, cores, sent, pid: service.pid });
}

/** Measures with each burden, and without one before each, because other load of the machine changes with time. */
async function measureBurdens(): Promise<void> {
  const wanted = burdens.filter(({ name }) => name.includes(values.only ?? ''));
  if (wanted.length === 0) return;
  await fillBurdened(commands);
  const keys = await burdenedKeys(commands);
  const burdened = await startChild({ ...settings, RATE_LIMIT: 'on', ADMIN_API: 'on', EVENTS: 'on', WEBHOOKS_PRIVATE: 'on' });
  try {
    await bystanders(burdened.port, WARM_UP_MS);
    for (const burden of wanted) {
      await measureBurden(undefined, burdened, keys);
      await measureBurden(burden, burdened, keys);
    }
  } finally {
    await burdened.stop();
  }
}

async function measureBurden(
  burden: Burden | undefined,
  { url, port, pid }: Child,
  keys: Pick<Burdened, 'viewer' | 'reader'>,
): Promise<void> {
  const end = await burden?.begin({ url, redis: commands, ...keys });
  // The process leases new hooks within a second.
  await pause(burden === undefined ? 0 : WARM_UP_MS);
  const cpuBefore = processCpu(pid);
  const met = await bystanders(port, milliseconds);
  const cores = (processCpu(pid) - cpuBefore) / 1000 / milliseconds;
  await end?.();
  printRow(burden?.name, 0, { met, cores, sent: { sentBytes: 0, opened: 0 }, pid });
}

interface Measured {
  readonly met: Met;
  readonly cores: number;
  readonly sent: Sent;
  readonly pid: number;
}

/** @param name of a flood or burden. Undefined: the row is not judged */
function printRow(name: string | undefined, connections: number, { met, cores, sent: { sentBytes, opened }, pid }: Measured): void {
  const [health, credit] = [met.health, met.credit].map(p99);
  const held = name === undefined || (health! <= BOUND_MS && credit! <= BOUND_MS && met.refused.length === 0);
  isHeld &&= held;
  const figures = [
    String(connections).padStart(11),
    (sentBytes / 1e6 / (milliseconds / 1000)).toFixed(1).padStart(10),
    String(opened).padStart(8),
    `${health!.toFixed(1)} ms`.padStart(11),
    `${credit!.toFixed(1)} ms`.padStart(11),
    `${Math.round(100 * cores)} %`.padStart(11),
    `${residentMegabytes(pid)} MB`.padStart(8),
    String(met.refused.length).padStart(8),
  ];
  console.log(
    `${held ? ' ' : '!'} ${(name ?? 'none').padEnd(56)} ${figures.join(' ')}  ${[...new Set(met.refused)].slice(0, 3).join('; ')}`,
  );
}

/** Makes an account that is as full as one can be, and a room of 64 players. */
async function fill(): Promise<Pick<Target, 'fullest' | 'game'>> {
  const filling = await startChild({ ...settings, BOARDS: 'open' });
  const commands = new Redis({ path: redis.socketPath });
  try {
    const { installId } = await fillFullestAccount('fullest-account', { url: filling.url, redis: commands });
    const players = Array.from({ length: MAX_PLAYERS }, (_, index) => `flooding-player-${index}`);
    const room = { installId: players[0], maxPlayers: MAX_PLAYERS, writers: 'players' };
    const { code } = (await post(filling.url, '/v1/rooms', room)).room;
    for (const player of players.slice(1)) await post(filling.url, `/v1/rooms/${code}/join`, { installId: player });
    return { fullest: installId, game: { code, players } };
  } finally {
    commands.disconnect();
    await filling.stop();
  }
}

/** Resolves when the flood has begun. */
async function startFlood({ name, onMetricsPort }: Flood, connections: number, target: Target): Promise<{ ended: Promise<Sent> }> {
  const port = onMetricsPort === true ? metricsPort : service.port;
  const words = [name, String(connections), String(milliseconds), String(port), FLOODING_ADDRESS, JSON.stringify(target)];
  const flooder = spawn(process.execPath, [FLOODER, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  const begun = new Promise<void>((resolve) =>
    flooder.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.startsWith(BEGUN)) resolve();
    }),
  );
  const closed = new Promise<void>((resolve) => flooder.on('close', () => resolve()));
  await Promise.race([begun, closed]);
  return { ended: closed.then(() => JSON.parse(text.slice(BEGUN.length)) as Sent) };
}

function residentMegabytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Math.round(Number(kilobytes) / 1024);
}

interface Sent {
  readonly sentBytes: number;
  readonly opened: number;
}

function p99(times: readonly number[]): number {
  if (times.length === 0) return Infinity;
  return times.toSorted((one, other) => one - other)[Math.ceil(times.length * 0.99) - 1]!;
}
