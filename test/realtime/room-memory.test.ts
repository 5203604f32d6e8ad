import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forFile, start, type TestReply } from '../harness.ts';
import { open, type TestRoom } from '../features/rooms/room.ts';
import { roomKeys } from '../../src/features/rooms/model.ts';
import { post, startChild, type Child } from './child.ts';
import { RawSocket } from './raw-socket.ts';
import { eventually } from './watcher.ts';

/** `SHOW_FIGURES=on` prints the figures of docs/bench.md. */
function shown(what: string, bytes: number): number {
  if (process.env['SHOW_FIGURES'] !== undefined) console.log(`${what}: ${Math.round(bytes)} bytes`);
  return bytes;
}

const textOf = (bytes: number): string => 'x'.repeat(bytes - 2);

const service = await forFile(start());

/** The bounds of docs/bench.md. */
test('a room in Redis takes at most 4 KiB with 8 seats, and at most 192 KiB with 64 seats and all its data', async () => {
  /** All samples: nested values are counted, not estimated. */
  const bytesOf = async ({ code }: TestRoom): Promise<number> =>
    Number(await service.service.redis.call('MEMORY', 'USAGE', roomKeys.room(code), 'SAMPLES', '0'));
  async function filled(players: number, settings: object = {}): Promise<[TestRoom, installs: string[]]> {
    const room = await open(service, { maxPlayers: players, ...settings });
    const installs = [room.host];
    while (installs.length < players) installs.push(await room.join());
    return [room, installs];
  }
  const done = async (...acts: Promise<TestReply>[]) =>
    expect((await Promise.all(acts)).filter(({ status }) => status !== 200)).toEqual([]);
  const [small, few] = await filled(8);
  expect(shown('8 seats', await bytesOf(small))).toBeLessThan(4 * 1024);
  await done(...few.map((installId) => small.act('data', installId, { data: textOf(1024) })));
  expect(shown('8 seats of a kilobyte', await bytesOf(small))).toBeLessThan(16 * 1024);

  const tags = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`tag_${index}`, 'x'.repeat(64)]));
  const [large, many] = await filled(64, { tags });
  await done(...many.map((installId) => large.act('data', installId, { data: textOf(256) })));
  await done(large.act('state', large.host, { state: textOf(8 * 1024) }));
  expect(shown('64 seats, all data, state and tags', await bytesOf(large))).toBeLessThan(64 * 1024);
  for (let first = 1; first <= 64; first += 8) {
    const seats = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`p${first + index}`, textOf(1024)]));
    await done(large.act('private', large.host, { seats }));
  }
  // A seat remembers its newest 8 tabs.
  for (let tab = 0; tab < 9; tab++) {
    const numbered = { order: Number.MAX_SAFE_INTEGER, tab: `${tab}`.padEnd(16, 'x') };
    await Promise.all(many.map((installId) => large.act('ready', installId, numbered)));
  }
  expect(shown('64 seats with private data and tabs', await bytesOf(large))).toBeLessThan(192 * 1024);
});

describe("memory of a room's topic in a process", () => {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-memory-'));
  let child: Child;
  beforeAll(async () => {
    const NODE_OPTIONS = `--import=${new URL('report-memory.ts', import.meta.url).href}`;
    // With a store the process asks for refunds after a second, which loads the client of HTTP: 5 MB, once.
    child = await startChild({ DATA_DIR: folder, SOCKETS_PER_ADDRESS: '100000', STORE: 'off', NODE_OPTIONS });
  });
  afterAll(async () => {
    await child.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  let looks = 0;
  async function memory(): Promise<{ heap: number; resident: number }> {
    const line = new RegExp(`^memory ${++looks} (\\d+) (\\d+)$`, 'm');
    process.kill(child.pid, 'SIGUSR2');
    await eventually(() => line.test(child.output()));
    const [, heap, resident] = line.exec(child.output())!;
    return { heap: Number(heap), resident: Number(resident) };
  }

  /** A room of 8 players with data of a kilobyte each, and all their welcomed channels. */
  async function played(name: string): Promise<RawSocket[]> {
    const { room } = await post(child.url, '/v1/rooms', { installId: `${name}-1` });
    const installs = Array.from({ length: 8 }, (_, index) => `${name}-${index + 1}`);
    for (const installId of installs.slice(1)) await post(child.url, `/v1/rooms/${room.code}/join`, { installId });
    for (const installId of installs) await post(child.url, `/v1/rooms/${room.code}/data`, { installId, data: textOf(1024) });
    return Promise.all(
      installs.map(async (installId) => {
        const socket = await RawSocket.open(child.port, `/v1/rooms/${room.code}/live`);
        socket.text(JSON.stringify({ type: 'hello', installId, tab: 'a' }));
        await eventually(() => socket.messages.some(({ type }) => type === 'welcome'));
        return socket;
      }),
    );
  }

  async function playedRooms(name: string, count: number): Promise<RawSocket[]> {
    const sockets: RawSocket[] = [];
    for (let room = 0; room < count; room += 10)
      sockets.push(...(await Promise.all(Array.from({ length: 10 }, (_, index) => played(`memory-${name}-${room + index}`)))).flat());
    return sockets;
  }

  test('with 8 players of a kilobyte each takes at most 64 KiB, their sockets included', async () => {
    const first = await playedRooms('first', 20);
    const before = await memory();
    const more = await playedRooms('more', 40);
    const after = await memory();
    shown('a topic with 8 players, resident', (after.resident - before.resident) / 40);
    expect(shown('a topic with 8 players, heap', (after.heap - before.heap) / 40)).toBeLessThan(64 * 1024);
    for (const socket of [...first, ...more]) socket.destroy();
  });
});
