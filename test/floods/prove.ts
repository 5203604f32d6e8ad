import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { processMemory } from '../../bench/measure/cpu.ts';
import { median } from '../../bench/measure/statistics.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { MAX_PLAYERS } from '../../src/features/rooms/model.ts';
import { freePort } from '../free-port.ts';
import { inParallel, times } from '../proofs/client.ts';
import { quantile, type Figures } from '../proofs/figures.ts';
import { now } from '../proofs/history.ts';
import { operate } from '../proofs/operator-tool.ts';
import { Place } from '../proofs/place.ts';
import type { Part, Stand } from '../proofs/proof.ts';
import { fillFullestAccount } from '../server/fullest-account.ts';
import { processCpu } from '../server/worst-body/cpu.ts';
import { bystanders, type Met } from './bystanders.ts';
import { fillList, LIST_CHANGES_MS } from './flooded-list.ts';
import { BEGUN, floods, type Flood, type Target } from './floods.ts';

/** Of /health and of a credit, for clients of other addresses. */
const BOUND_MS = 50;

/** The larger p99 of others beside a bulk grant, by that without one. */
const MOST_RATIO = 1.5;
/** The most accounts of one call. */
const GRANTED = 1000;
const LEAST_GRANTS_PER_SECOND = 500;

const MEASURED_MS = 4000;
const WARM_UP_MS = 2000;
const QUIET_MS = 5000;

/** With `--minutes` each turn begins so many floods later. */
const FLOODS_A_TURN = 9;

const FLOODER = fileURLToPath(new URL('flooder.ts', import.meta.url));
const FLOODING_ADDRESS = '127.0.9.9';

/** A flood from one address does not noticeably slow down other addresses, and neither does costly work. */
export const parts: readonly Part[] = [
  {
    ...{ proof: 'floods', name: 'floods', seconds: 900, least: 60, prove: proveFloods },
    about: 'each flood comes over one connection and over sixty, as fast as loopback takes it',
  },
  {
    ...{ proof: 'grants', name: 'bulk', seconds: 190, least: 40, prove: proveGrants },
    about: 'a bulk grant does not slow down other clients: phases without and with one alternate',
  },
];

/**
 * A service whose Redis does not wait for the disk at each write: a credit would take as long as the disk does, which other programs of
 * this machine use too.
 */
async function openPlace(settings: Readonly<Record<string, string>>, stand: Stand): Promise<Place> {
  const place = await Place.open({ on: 'shared', settings }, stand);
  await place.redis!.config('SET', 'appendfsync', 'everysec');
  return place;
}

async function proveFloods(stand: Stand): Promise<void> {
  const metricsPort = await freePort();
  // With a trusted proxy the service serves requests with every Host, as in production.
  const settings = { METRICS_PORT: metricsPort, TRUSTED_PROXIES: '192.0.2.1', BOARDS: 'open' };
  const place = await openPlace(settings, stand);
  const { client } = place;
  const filled = await fill(place);
  const list = await fillList(place.redis!);
  await place.restart({ RATE_LIMIT: 'on' });
  const { code } = (await client.need('/v1/rooms', { installId: 'flooded-room-host' })).room;
  const { token } = await client.need('/v1/pair/new', {});
  const { port } = place.running[0]!;
  const target: Target = { ...filled, host: `127.0.0.1:${port}`, room: code, pairingToken: token, list: list.target };
  // The first requests of each kind cost more, because V8 compiles and a thread makes the pages.
  await Promise.all(['/docs', '/docs/operating', '/docs/search.json', '/client.js'].map((path) => client.ask(path)));
  await bystanders(port, WARM_UP_MS);
  await measure('none', Infinity, place, stand);
  const { flags, endsBy } = stand;
  const wanted = floods.filter(({ name }) => name.includes(flags.match));
  const first = endsBy === Infinity ? 0 : (flags.turn * FLOODS_A_TURN) % wanted.length;
  for (const [index, flood] of [...wanted.slice(first), ...wanted.slice(0, first)].entries()) {
    if (index > 0 && now() > endsBy)
      return console.log(`  left out, because they need more time: ${wanted.length - index} of ${wanted.length}`);
    for (const connections of flood.connections ?? [1, 60]) {
      // The address may open its sockets at once only after a pause: its limit is 200 requests at once and 50 a second.
      if (flood.perSecond !== undefined) await pause(QUIET_MS);
      const flooding = await startFlood(flood, connections, flood.onMetricsPort === true ? metricsPort : String(port), target);
      const changing = flood.changesList === true ? setInterval(() => void list.change(), LIST_CHANGES_MS) : undefined;
      await measure(`${flood.name}, ${connections}`, BOUND_MS, place, stand);
      clearInterval(changing);
      console.log(`    the flood: ${await flooding.ended}`);
    }
  }
}

/**
 * Each pair of phases gives a ratio of p99s, and the median of the ratios is judged, because other load of the machine changes more slowly
 * than the phases.
 */
async function proveGrants(stand: Stand): Promise<void> {
  const { figures, size } = stand;
  const { client, running, settings } = await openPlace({ ADMIN_API: 'on', EVENTS: 'on' }, stand);
  const { port } = running[0]!;
  const { token: bearer } = operate(['keys', 'create', '--name', 'prove', '--scopes', 'admin', '--role', 'economist'], settings);
  const installIds = times(GRANTED, (index) => `grantee-${process.pid}-${index}`);
  await inParallel(installIds, (installId) => client.need('/v1/coins/credit', { installId, coins: 1, key: 'first' }), 20);
  const entries = installIds.map((installId) => ({ account: accountIdOf(installId), coins: 1 }));
  // Each call has a new key, so it grants coins to every account.
  let [granted, calls, took, isOver] = [0, 0, 0, true];
  const grant = async (): Promise<void> => {
    for (isOver = false; !isOver; calls++) {
      const startedAt = now();
      const body = { entries, key: `bulk-${calls}`, reason: 'proof' };
      const { results } = (await client.until('/v1/admin/coins/grant-many', { body, bearer }))!.body as { results: { outcome: string }[] };
      granted += results.filter(({ outcome }) => outcome === 'granted').length;
      took += now() - startedAt;
    }
  };
  const [quiet, busy]: [Latencies[], Latencies[]] = [[], []];
  const phase = async (): Promise<Latencies> => latenciesOf(await bystanders(port, MEASURED_MS), figures);
  const beside = async (): Promise<unknown> => {
    const granting = grant();
    busy.push(await phase());
    isOver = true;
    return granting;
  };
  const phases = [async () => quiet.push(await phase()), beside];
  // Every other pair begins with the bulk grant, so that a machine that slows down with time favours neither.
  for (let pair = 0; pair < 20 * size; pair++) for (const each of pair % 2 === 0 ? phases : phases.toReversed()) await each();
  for (const kind of ['health', 'credit'] as const) {
    const of = (all: readonly Latencies[]): string => median(all.map((each) => each[kind])).toFixed(2);
    figures.report(`${kind}: p99 without; beside a bulk grant: medians of ${quiet.length} phases, ms`, `${of(quiet)}; ${of(busy)}`);
    // The ratio of two quiet phases shows the noise of the machine.
    const noise = quiet.slice(1).map((each, index) => Math.exp(Math.abs(Math.log(each[kind] / quiet[index]![kind]))));
    figures.report(`${kind}: larger p99 by the smaller, of two quiet phases in a row`, median(noise));
    figures.time(`${kind}: median of the ratios of p99s`, median(quiet.map((each, pair) => busy[pair]![kind] / each[kind])), MOST_RATIO);
  }
  figures.time('grants a second', (granted * 1000) / took, [LEAST_GRANTS_PER_SECOND, Infinity]);
  figures.exactly('accounts that a call did not grant to', calls * GRANTED - granted, 0);
}

type Latencies = Readonly<Record<'health' | 'credit', number>>;

/** The p99s of both kinds of requests. None may be refused. */
function latenciesOf({ health, credit, refused }: Met, figures: Figures): Latencies {
  if (refused.length > 0) figures.exactly(`  refused: ${[...new Set(refused)].slice(0, 3).join('; ')}`, refused.length, 0);
  return { health: quantile(health), credit: quantile(credit) };
}

/** Measures beside a flood. Without one the figure shows the latency of the machine itself. */
async function measure(name: string, boundMs: number, place: Place, { figures }: Stand): Promise<void> {
  const { pid, port } = place.running[0]!;
  const cpuBefore = processCpu(pid);
  const { health, credit } = latenciesOf(await bystanders(port, MEASURED_MS), figures);
  const cores = (processCpu(pid) - cpuBefore) / 1000 / MEASURED_MS;
  figures.time(`${name}: the larger p99, ms`, Math.max(health, credit), boundMs);
  const memory = Math.round(processMemory(pid) / 2 ** 20);
  console.log(`    /health ${health.toFixed(1)} ms, a credit ${credit.toFixed(1)} ms; server ${Math.round(100 * cores)} %, ${memory} MB`);
}

/** Makes an account that is as full as one can be, and a room of 64 players. */
async function fill({ redis, client }: Place): Promise<Pick<Target, 'fullest' | 'game'>> {
  const { installId } = await fillFullestAccount('fullest-account', { url: client.url, redis: redis! });
  const players = times(MAX_PLAYERS, (index) => `flooding-player-${index}`);
  const { code } = (await client.need('/v1/rooms', { installId: players[0], maxPlayers: MAX_PLAYERS, writers: 'players' })).room;
  for (const player of players.slice(1)) await client.need(`/v1/rooms/${code}/join`, { installId: player });
  return { fullest: installId, game: { code, players } };
}

/** Resolves when the flood has begun. `ended` tells what it sent. */
async function startFlood({ name }: Flood, connections: number, port: string, target: Target): Promise<{ ended: Promise<string> }> {
  const words = [name, String(connections), String(MEASURED_MS), port, FLOODING_ADDRESS, JSON.stringify(target)];
  const flooder = spawn(process.execPath, [FLOODER, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  const closed = once(flooder, 'close');
  const begun = new Promise<void>((resolve) =>
    flooder.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.startsWith(BEGUN)) resolve();
    }),
  );
  await Promise.race([begun, closed]);
  return { ended: closed.then(() => text.slice(BEGUN.length).trim()) };
}
