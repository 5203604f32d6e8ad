import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { PrivateRedis } from '../../src/process/private-redis.ts';
import { freshId, sleep } from '../harness.ts';
import { startChild, workersOf, type Child } from '../realtime/child.ts';
import { RawSocket } from '../realtime/raw-socket.ts';
import { eventually } from '../realtime/watcher.ts';
import { all, count, Lines, roomy, statusOf, type Line } from '../server/connection-lines.ts';

/** The sockets that listen on the service's port. Each worker has its own socket. */
function listenersOf({ port }: Child): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const LISTEN = '0A';
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'].map((file) => readFileSync(file, 'utf8')).join('');
  return [...tables.matchAll(new RegExp(`:${hex} [0-9A-F]+:0000 ${LISTEN} `, 'g'))].length;
}

/** Time for a process to finish its work before the next step. A stopped process gives no sign that a test could wait for. */
const STEP_MS = 200;

const signal = (to: NodeJS.Signals, ...pids: number[]) => pids.forEach((pid) => process.kill(pid, to));

const post = (child: Child, path: string, body: object): Promise<Response> =>
  fetch(child.url + path, {
    method: 'POST',
    // Each request has a separate connection, so that the kernel spreads them over the workers.
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(body),
  });

async function openRoom(child: Child): Promise<string> {
  const { room } = (await (await post(child, '/v1/rooms', { installId: freshId() })).json()) as { room: { code: string } };
  return room.code;
}

const guess = ({ socket }: Line, code: string) => socket.write(`GET /v1/rooms/${code} HTTP/1.1\r\nhost: localhost\r\n\r\n`);

/** A connection from the address that has received the answer for a room that does not exist. */
async function guessed(lines: Lines, from: string): Promise<Line> {
  const line = await lines.open(from);
  guess(line, 'BBBBB');
  await eventually(() => line.received !== '');
  return line;
}

describe('two workers', () => {
  let folder: string;
  let child: Child;
  /** A room's code. */
  let code: string;
  /** Addresses that have used up their entries: a test that runs again needs another. */
  let addresses = 0;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coinop-workers-'));
    // Connections that closed within the last quarter of a second still count, doubled: the bound must not refuse a burst here.
    const bounds = { SOCKETS_PER_ADDRESS: '7', CONNECTIONS_PER_ADDRESS: '4000', LEDGER_ENTRIES_PER_DAY: '200' };
    child = await startChild({ ...roomy, ...bounds, WORKERS: '2', DATA_DIR: folder, LOG_LEVEL: 'silent' });
    code = await openRoom(child);
  });
  // A paused process would not handle its stop.
  afterEach(() => signal('SIGCONT', child.pid, ...workersOf(child)));
  afterAll(async () => {
    await child.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('count creations and misses together', async () => {
    const startedAt = performance.now();
    const seconds = () => (performance.now() - startedAt) / 1000;
    const made = count(await all(150, () => post(child, '/v1/coins/credit', { installId: freshId(), coins: 1, key: 'a' })), 200);
    // The room may count among the 60; one creation a second becomes available again.
    expect(made).toBeGreaterThanOrEqual(59);
    expect(made).toBeLessThanOrEqual(60 + Math.ceil(seconds()));
    using lines = new Lines(child);
    const guesses = await all(100, async () => statusOf(await guessed(lines, '127.0.0.5')));
    // One guess in two seconds becomes available again.
    const missed = guesses.filter((status) => status === 404).length;
    expect(missed).toBeGreaterThanOrEqual(30);
    expect(missed).toBeLessThanOrEqual(31 + Math.ceil(seconds() / 2));
  });

  test('count ledger entries together: replays on any worker take none, and no worker exceeds the limit', async () => {
    const installId = freshId();
    const localAddress = `127.0.6.${++addresses}`;
    const credit = (key: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const headers = { 'content-type': 'application/json' };
        const asked = { host: '127.0.0.1', port: child.port, localAddress, method: 'POST', path: '/v1/coins/credit', headers };
        // A separate connection, so that the kernel spreads the requests over the workers.
        request({ ...asked, agent: false }, (response) => resolve(response.resume().statusCode!))
          .on('error', reject)
          .end(JSON.stringify({ installId, coins: 1, key }));
      });
    expect(await credit('first')).toBe(200);
    for (let round = 0; round < 4; round++) expect(new Set(await all(60, () => credit('first')))).toEqual(new Set([200]));
    // No more at a time than a slow machine can answer in time.
    const replies: number[] = [];
    for (let round = 0; round < 5; round++) replies.push(...(await all(60, (index) => credit(`k${round}.${index}`))));
    let written = replies.filter((status) => status === 200).length;
    expect(replies.filter((status) => status === 429)).toHaveLength(300 - written);
    // The entries that the last replays returned may not have reached the primary yet.
    for (let index = 0; written < 199; index++) if ((await credit(`late ${index}`)) === 200) written++;
    expect(written).toBe(199);
    expect(new Set(await all(20, (index) => credit(`more ${index}`)))).toEqual(new Set([429]));
  });

  test('a request writes nothing if the primary admits it only after its answer 503', async () => {
    const redis = new Redis({ path: new PrivateRedis(folder, pino({ level: 'silent' })).socketPath });
    try {
      using lines = new Lines(child);
      // An address with all of its creations left.
      const line = await lines.open('127.0.0.3');
      const body = JSON.stringify({ installId: freshId() });
      const create = `POST /v1/rooms HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      const rooms = async (): Promise<number> => (await redis.keys('{room:?????}')).length;
      const before = await rooms();
      signal('SIGSTOP', child.pid);
      line.socket.write(create);
      await eventually(() => statusOf(line) === 503);
      expect(line.received).toContain('"code":"store_unavailable"');
      expect(line.received).not.toContain('"outcome"');
      signal('SIGCONT', child.pid);
      // The same connection reaches the same worker, which asks the primary for one creation after the other.
      line.received = '';
      line.socket.write(create);
      await eventually(() => statusOf(line) === 200);
      expect(await rooms()).toBe(before + 1);
    } finally {
      redis.disconnect();
    }
  });

  test('the service stays up when a worker dies while it waits for guesses, and the dead worker holds no guesses', async () => {
    using lines = new Lines(child);
    const upgrade = ({ socket }: Line) =>
      socket.write(
        `GET /v1/rooms/${code}/live HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
          'sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
      );
    // One of the workers may have just replaced a worker that an earlier test killed.
    await eventually(() => listenersOf(child) === 2);
    const [doomed, other] = workersOf(child) as [number, number];

    // The connections without an answer are those of the paused worker.
    const opened = await all(120, () => lines.open('127.0.0.2'));
    signal('SIGSTOP', doomed);
    for (const { socket } of opened) socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n');
    // The kernel gives at least 31 of 120 connections to one worker.
    await eventually(() => opened.filter(({ received }) => received !== '').length >= 31);
    await sleep(STEP_MS);
    const ofOther = opened.filter(({ received }) => received !== '');
    const ofDoomed = opened.filter(({ received }) => received === '');
    expect(ofOther.length).toBeGreaterThanOrEqual(31);
    expect(ofDoomed.length).toBeGreaterThanOrEqual(21);
    signal('SIGCONT', doomed);
    await eventually(() => opened.every(({ received }) => received !== ''));

    // The other worker holds all 30 guesses. The doomed one waits for guesses, and has just asked for sockets.
    signal('SIGSTOP', child.pid);
    for (const line of ofOther.slice(0, 30)) guess(line, code);
    await sleep(STEP_MS);
    signal('SIGSTOP', other);
    signal('SIGCONT', child.pid);
    await sleep(STEP_MS);
    for (const line of ofDoomed.slice(0, 20)) guess(line, code);
    await sleep(STEP_MS);
    signal('SIGSTOP', child.pid);
    for (const line of ofDoomed.slice(20)) upgrade(line);
    await sleep(STEP_MS);
    signal('SIGKILL', doomed);
    await sleep(STEP_MS);
    signal('SIGCONT', child.pid);
    await sleep(STEP_MS);
    signal('SIGCONT', other);
    await eventually(() => workersOf(child).length === 2);

    // Guesses are answered, none waits for the dead worker, and all sockets of the address are available.
    const guesses = await all(60, async () => statusOf(await guessed(lines, '127.0.0.2')));
    expect([...new Set(guesses)].toSorted()).toEqual([404, 429]);
    await eventually(async () => {
      const raws = await all(12, () => RawSocket.open(child.port, `/v1/rooms/${code}/live`, {}, undefined, '127.0.0.2'));
      const upgraded = count(raws, 101);
      for (const raw of raws) raw.destroy();
      return upgraded === 7;
    });
  });
});
