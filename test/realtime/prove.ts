import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { runAuditCommand } from '../consistency/command.ts';
import { startChild, startTcpRedis, type Child } from './child.ts';
import { proveActs, proveActsFailover, proveActsKilled, provePrivate, type Stand } from './prove-acts.ts';
import { proveListKilled, proveMatches } from './prove-list.ts';
import { provePatches } from './prove-patches.ts';
import { cutSubscribers, post, read, storm } from './storm.ts';
import { Tally } from './tally.ts';
import { eventually, watchRoom, Watcher, type Message } from './watcher.ts';

/**
 * Proves the guarantees of the live channels at full size on real processes: `npm run prove:realtime`, or some of the
 * proofs: `npm run prove:realtime kill burst`. Takes some four minutes, prints a table, and exits with 1 if a bound is not held.
 * `npm run prove:realtime -- private --changes 1000000` sets a million private parts, which takes ten minutes or more.
 */

const { values, positionals: wanted } = parseArgs({
  options: { changes: { type: 'string', default: '20000' } },
  allowPositionals: true,
});

const rows: { what: string; figure: string; bound: string; held: boolean }[] = [];
let isHeld = true;

function report(what: string, figure: number | string, bound = '', held = true): void {
  const shown = typeof figure === 'number' ? String(Math.round(figure * 100) / 100) : figure;
  rows.push({ what, figure: shown, bound, held });
  isHeld &&= held;
  console.log(`${held ? ' ' : '!'} ${what.padEnd(74)} ${shown.padStart(12)}   ${bound}`);
}

const atMost = (what: string, figure: number, bound: number): void => report(what, figure, `<= ${bound}`, figure <= bound);
const exactly = (what: string, figure: number, bound: number): void => report(what, figure, `= ${bound}`, figure === bound);

const folder = mkdtempSync(join(tmpdir(), 'coinop-prove-'));
const redis = await startTcpRedis(folder);
const commands = new Redis({ path: redis.socketPath });
const children: Child[] = [];

/** Each Redis has its own DATA_DIR. If DATA_DIR names the data of another Redis, a service refuses an empty Redis as lost data. */
async function child({ REDIS_URL = redis.url, ...settings }: Record<string, string> = {}): Promise<Child> {
  const DATA_DIR = join(folder, REDIS_URL.replaceAll(/\W+/g, '-'));
  const started = await startChild({ REDIS_URL, DATA_DIR, SOCKETS_PER_ADDRESS: '100000', ...settings });
  children.push(started);
  return started;
}

const stopAll = (): Promise<unknown> => Promise.all(children.splice(0).map((running) => running.stop()));

async function newRoom(url: string, host: string, players = 0): Promise<string> {
  const { room } = await post(url, '/v1/rooms', { installId: host, maxPlayers: 64 });
  for (let index = 0; index < players; index++) await post(url, `/v1/rooms/${room.code}/join`, { installId: `${host}-guest-${index}` });
  return room.code as string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 32 });

/** Sets a room's state, and resolves with its `seq`. node:http costs less than fetch. */
function setState(url: string, code: string, installId: string, state: unknown): Promise<number> {
  return new Promise((resolve, reject) => {
    const asking = request(
      `${url}/v1/rooms/${code}/state`,
      { method: 'POST', agent, headers: { 'content-type': 'application/json' } },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => resolve(Number(/"seq":(\d+)/.exec(text)?.[1] ?? Number.NaN)));
      },
    );
    asking.on('error', reject);
    asking.end(JSON.stringify({ installId, state }));
  });
}

function percentile(sorted: number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
}

function residentMegabytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}

/** CPU time that a process has used, in seconds (proc(5), /proc/pid/stat). */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function proveStorm(): Promise<void> {
  const urls = (await Promise.all([child(), child()])).map(({ url }) => url);
  let cuts = 0;
  const startedAt = performance.now();
  const figures = await storm({
    urls,
    rooms: 50,
    watchersPerRoom: 10,
    actions: 12_000,
    actors: 24,
    seed: 3,
    halfway: async () => void (cuts = await cutSubscribers(commands, 5000)),
  });
  report('2 processes x 50 rooms x 10 watchers: actions', figures.actions);
  report('  took, s', (performance.now() - startedAt) / 1000);
  report('  sockets opened; reconnects at random', `${figures.sockets}; ${figures.reconnects}`);
  report('  subscriber connections cut meanwhile', cuts);
  report('  states received, each with a higher seq than the last', figures.messages);
  atMost('  all equal to Redis after the last action within, ms', figures.settledMs, 10_000);
  await stopAll();

  const { url } = await child({ WORKERS: '2' });
  const worked = await storm({ urls: [url], rooms: 10, watchersPerRoom: 10, actions: 2000, actors: 16, seed: 4 });
  atMost('WORKERS=2 x 10 rooms x 10 watchers: all equal to Redis within, ms', worked.settledMs, 10_000);
  await stopAll();
}

async function proveCut(): Promise<void> {
  const [here, there] = await Promise.all([child(), child()]);
  const codes = await Promise.all(Array.from({ length: 50 }, (_, index) => newRoom(here.url, `cut-host-${index}`)));
  const watchers = await Promise.all(codes.flatMap((code) => [here, there, there].map(({ port }) => Tally.open(port, code))));
  let isCut = true;
  let changes = 0;
  const changing = (async () => {
    while (isCut) {
      await Promise.all(codes.slice(0, 25).map((code, index) => setState(here.url, code, `cut-host-${index}`, changes++)));
      await delay(10);
    }
    // The other 25 rooms change once, in the middle of the cut: only catching up can deliver that change.
  })();
  const once = delay(2500).then(() =>
    Promise.all(codes.slice(25).map((code, index) => setState(here.url, code, `cut-host-${index + 25}`, 'once'))),
  );
  const cuts = await cutSubscribers(commands, 5000);
  const backAt = performance.now();
  isCut = false;
  await Promise.all([changing, once]);
  const standing = await Promise.all(codes.map(async (code) => (await read(here.url, code)).seq as number));
  await Promise.all(watchers.map((watcher, index) => watcher.reached(standing[Math.floor(index / 3)]!)));
  report('subscriptions cut for 5 s: connections killed; changes meanwhile', `${cuts}; ${changes + 25}`);
  atMost('  all 150 watchers caught up after the return within, ms', performance.now() - backAt, 10_000);
  exactly(
    '  states repeated or older',
    watchers.reduce((sum, { faults }) => sum + faults, 0),
    0,
  );
  for (const watcher of watchers) watcher.destroy();
  await eventually(async () => ((await commands.pubsub('CHANNELS', '0:{room:*')) as string[]).length === 0);
  report('  Redis channels still subscribed to once nobody watches', 0, '= 0');
  await stopAll();
}

async function proveKill(): Promise<void> {
  const graceSeconds = 15;
  const settings = { HOST_GRACE_SECONDS: String(graceSeconds) };
  const [doomed, survivor] = await Promise.all([child(settings), child(settings)]);
  const rooms = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const host = `kill-host-${index}`;
      const code = await newRoom(survivor.url, host, 2);
      const [onDoomed, guestOnDoomed, witness] = [
        await watchRoom(doomed, code),
        await watchRoom(doomed, code),
        await watchRoom(survivor, code),
      ];
      await onDoomed.hello(host);
      await guestOnDoomed.hello(`${host}-guest-0`);
      await witness.hello(`${host}-guest-1`);
      await witness.until((message) => message.room?.players.every(({ connected }: Message) => connected));
      return { witness, seq: (await read(survivor.url, code)).seq as number };
    }),
  );
  const killedAt = performance.now();
  await doomed.stop('SIGKILL');
  children.splice(children.indexOf(doomed), 1);
  const since = (): number => (performance.now() - killedAt) / 1000;
  const away: number[] = [];
  const passed: number[] = [];
  let kept = true;
  await Promise.all(
    rooms.map(async ({ witness, seq }) => {
      await witness.until(
        (message) => message.seq > seq && !message.room.players[0].connected && !message.room.players[1].connected,
        30_000,
      );
      away.push(since());
      const { room } = await witness.until((message) => message.seq > seq && message.room.hostId !== 'p1', 60_000);
      passed.push(since());
      kept &&= room.hostId === 'p3' && room.players.length === 3 && room.players[2].connected;
    }),
  );
  report(
    'a process killed with 40 players of 20 rooms: shown away after, s',
    `${Math.min(...away).toFixed(1)} to ${Math.max(...away).toFixed(1)}`,
    '7 to 12',
    Math.min(...away) >= 6.9 && Math.max(...away) <= 12,
  );
  // The last renewal of a lease was up to 3 s before the kill.
  report(
    `  the role passed on with HOST_GRACE_SECONDS=${graceSeconds} after, s`,
    `${Math.min(...passed).toFixed(1)} to ${Math.max(...passed).toFixed(1)}`,
    '12 to 17',
    Math.min(...passed) >= 11.9 && Math.max(...passed) <= 17,
  );
  report('  to the longest-seated connected player, all seats kept', String(kept), '= true', kept);
  await Promise.all(rooms.map(({ witness }) => witness.close()));
  await stopAll();
}

async function proveStalled(): Promise<void> {
  const service = await child({ ROOM_BYTES_PER_SECOND: '1000000000' });
  const code = await newRoom(service.url, 'stall-host', 20);
  const text = 'x'.repeat(8000);
  const open = (count: number): Promise<Tally[]> => Promise.all(Array.from({ length: count }, () => Tally.open(service.port, code)));
  // uWS closes a silent socket. A socket that answers pings but reads nothing has to be detected by its full buffers.
  const [healthy, silent, talking, returning] = [await open(100), await open(50), await open(50), await open(10)];
  const first = await setState(service.url, code, 'stall-host', { text });
  await Promise.all([...healthy, ...silent, ...talking, ...returning].map((tally) => tally.reached(first)));
  const before = residentMegabytes(service.pid);
  for (const tally of [...silent, ...talking, ...returning]) tally.pause();

  const latencies: number[] = [];
  let peak = before;
  let last = first;
  let changes = 0;
  let silentFor = 0;
  let left = 210;
  let returned = false;
  const stalledAt = performance.now();
  const seconds = (): number => (performance.now() - stalledAt) / 1000;
  // It takes some seconds until the kernel's buffers are full (4 MB a socket), and a watcher may then be full for 30 s.
  while (left > 110 && seconds() < 75) {
    const askedAt = performance.now();
    last = await setState(service.url, code, 'stall-host', { changes: changes++, text });
    for (const at of await Promise.all(healthy.map((tally) => tally.reached(last)))) latencies.push(at - askedAt);
    if (changes % 50 !== 0) continue;
    for (const tally of talking) tally.pong();
    peak = Math.max(peak, residentMegabytes(service.pid));
    // A paused socket does not see its own end, so this asks the service.
    left = await openSockets(service);
    if (left <= 160 && silentFor === 0) silentFor = seconds();
    if (returned || seconds() < 20) continue;
    returned = true;
    for (const tally of returning) tally.resume();
  }
  const talkingFor = seconds();
  latencies.sort((one, other) => one - other);
  report('100 watchers that never read, 100 healthy ones, states of 10 KB: changes', changes);
  atMost('  healthy ones have each state after it was asked for, p99, ms', percentile(latencies, 0.99), 100);
  report('  the same, median and worst, ms', `${percentile(latencies, 0.5).toFixed(1)}; ${latencies.at(-1)!.toFixed(1)}`);
  report('  the service closed the silent ones after, s', silentFor, '30 to 42', silentFor >= 30 && silentFor <= 42);
  report('  and those that answered pings after, s (30 with full buffers)', talkingFor, '30 to 60', talkingFor >= 30 && talkingFor <= 60);
  atMost("  the service's memory grew by, MB", peak - before, 64);
  await Promise.all(returning.map((tally) => tally.reached(last)));
  const skipped = Math.min(...returning.map(({ messages }) => changes - messages));
  report('  10 that stalled and read again: have the last state, skipped at least', skipped, '> 0', skipped > 0);
  exactly(
    '  states repeated or older',
    [...healthy, ...returning].reduce((sum, { faults }) => sum + faults, 0),
    0,
  );
  for (const tally of [...silent, ...talking]) tally.resume();
  await eventually(() => [...silent, ...talking].every(({ closedAt }) => closedAt !== undefined));
  for (const tally of [...healthy, ...returning]) tally.destroy();
  await stopAll();
}

async function openSockets({ url }: Child): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^coinop_live_sockets (\d+)$/m.exec(text)![1]);
}

async function proveBurst(): Promise<void> {
  const service = await child({ ROOM_BYTES_PER_SECOND: '1000000000' });
  const code = await newRoom(service.url, 'burst-host', 3);
  const tallies: Tally[] = [];
  for (let index = 0; index < 20; index++)
    tallies.push(...(await Promise.all(Array.from({ length: 50 }, () => Tally.open(service.port, code)))));
  const latencies: number[] = [];
  const perSecond: number[] = [];
  let cpu = 0;
  let changes = 0;
  let burstSeconds = 0;
  for (let burst = 0; burst < 10; burst++) {
    const before = tallies.map(({ messages }) => messages);
    const startedAt = performance.now();
    const cpuBefore = cpuSeconds(service.pid);
    let last = 0;
    let sent = 0;
    const pending = new Set<Promise<void>>();
    // A thousand a second, evenly spread: each turn sends the messages that are due.
    while (sent < 1000) {
      for (const due = Math.min(1000, performance.now() - startedAt); sent < due; sent++) {
        const asked = setState(service.url, code, 'burst-host', sent).then((seq) => void (last = Math.max(last, seq)));
        pending.add(asked);
        void asked.finally(() => pending.delete(asked));
      }
      await delay(1);
    }
    await Promise.all(pending);
    const lastAt = performance.now();
    const arrived = await Promise.all(tallies.map((tally) => tally.reached(last)));
    for (const at of arrived) latencies.push(Math.max(0, at - lastAt));
    const seconds = (performance.now() - startedAt) / 1000;
    burstSeconds += (lastAt - startedAt) / 1000;
    cpu += cpuSeconds(service.pid) - cpuBefore;
    changes += sent;
    for (const [index, tally] of tallies.entries()) perSecond.push((tally.messages - before[index]!) / seconds);
    await delay(200);
  }
  latencies.sort((one, other) => one - other);
  report('1,000 watchers of one room: changes a second', changes / burstSeconds, '>= 900', changes / burstSeconds >= 900);
  atMost('  messages a watcher and second, at most', Math.max(...perSecond), 61);
  report('  messages a watcher and second, at least', Math.min(...perSecond));
  atMost('  all watchers have the last state after its acknowledgement, p99, ms', percentile(latencies, 0.99), 100);
  report('  the same, median and worst, ms', `${percentile(latencies, 0.5).toFixed(1)}; ${latencies.at(-1)!.toFixed(1)}`);
  report("  the service's CPU, % of one core", (cpu / burstSeconds) * 100);
  report('  CPU a message sent (changes included), us', (cpu / tallies.reduce((sum, { messages }) => sum + messages, 0)) * 1e6);
  exactly(
    '  states repeated or older',
    tallies.reduce((sum, { faults }) => sum + faults, 0),
    0,
  );
  for (const tally of tallies) tally.destroy();
  await stopAll();
}

async function proveDrain(): Promise<void> {
  const [leaving, staying] = await Promise.all([child(), child()]);
  const code = await newRoom(leaving.url, 'drain-host');
  const watchers: Watcher[] = [];
  for (let index = 0; index < 10; index++)
    watchers.push(...(await Promise.all(Array.from({ length: 40 }, () => watchRoom(leaving, code)))));
  const startedAt = performance.now();
  const stopped = leaving.stop();
  children.splice(children.indexOf(leaving), 1);
  const codes = await Promise.all(watchers.map(({ closed }) => closed));
  const elapsed = (performance.now() - startedAt) / 1000;
  exactly('SIGTERM with 400 watchers: closed with 1001', codes.filter(({ code: closeCode }) => closeCode === 1001).length, 400);
  report('  spread over, s', elapsed, '1 to 5', elapsed >= 1 && elapsed <= 5);
  exactly('  exit code', (await stopped)!, 0);
  const back = await watchRoom(staying, code);
  exactly('  a watcher that connects elsewhere finds seq', (await back.reaches(1)).seq, 1);
  await back.close();
  await stopAll();
}

const stand: Stand = {
  child,
  stopAll,
  forget: (doomed) => void children.splice(children.indexOf(doomed), 1),
  commands,
  report,
  exactly,
};

/** The data that the proofs leave behind, after kills, cuts and drains. */
async function proveData(): Promise<void> {
  const { code, out, error } = await runAuditCommand(['--json', '--full-speed'], { REDIS_URL: redis.url });
  if (code !== 0) console.error(out, error);
  exactly('the audit of all data: exit code', code!, 0);
}

const startedAt = performance.now();
try {
  const proofs = {
    ...{ storm: proveStorm, cut: proveCut, kill: proveKill, stalled: proveStalled, burst: proveBurst, drain: proveDrain },
    acts: () => proveActs(stand),
    'acts-killed': () => proveActsKilled(stand),
    'acts-failover': () => proveActsFailover(stand),
    'list-killed': () => proveListKilled(stand),
    matches: () => proveMatches(stand),
    patches: () => provePatches(stand),
    private: () => provePrivate(stand, Number(values.changes)),
  };
  for (const [name, prove] of Object.entries(proofs)) if (wanted.length === 0 || wanted.includes(name)) await prove();
  await proveData();
} catch (error) {
  console.error(error);
  isHeld = false;
} finally {
  agent.destroy();
  await stopAll();
  commands.disconnect();
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
}
console.log(
  `\n${rows.filter(({ held }) => held).length} of ${rows.length} as promised, in ${Math.round((performance.now() - startedAt) / 1000)} s`,
);
process.exit(isHeld ? 0 : 1);
