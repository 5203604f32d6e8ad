import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forFile } from '../../harness.ts';
import { open } from '../../features/rooms/room.ts';
import { ownRedis } from '../../realtime/own.ts';
import { frame, opcodes, RawSocket } from '../../realtime/raw-socket.ts';
import { eventually } from '../../realtime/watcher.ts';

/** With 64 players of long names and the largest state, a message has some 18 KB. */
const text = 'x'.repeat(8000);

const seqs = (raw: RawSocket): number[] => raw.messages.filter(({ type }) => type === 'room').map(({ seq }) => seq);
const answers = (raw: RawSocket) => raw.messages.filter(({ type }) => type !== 'room');

/** The seq of the last frame. Called all the time, so it parses no JSON. */
function lastSeq(raw: RawSocket): number {
  return Number(/^{"type":"room","seq":(\d+)/.exec(raw.frames.at(-1)?.payload.subarray(0, 60).toString() ?? '')?.[1] ?? 0);
}

function expectRising(raw: RawSocket): void {
  const seen = seqs(raw);
  expect(seen).toEqual([...new Set(seen)].sort((one, other) => one - other));
}

const redis = await forFile(ownRedis());
// With the usual bound on a room's bytes, filling the buffers would take minutes.
const service = await forFile(redis.start({ settings: { ROOM_BYTES_PER_SECOND: '1000000000' } }));
const room = await open(service, { maxPlayers: 64 });
const watch = (count: number): Promise<RawSocket[]> =>
  Promise.all(Array.from({ length: count }, () => RawSocket.open(service.port, `/v1/rooms/${room.code}/live`)));
const players = await Promise.all(
  Array.from({ length: 63 }, (_, index) => room.join(`${'a player of a long name '.slice(0, 21)}${index + 1}`)),
);
/** Watchers that read. */
const healthy = await watch(3);
/** Watchers that read nothing, until a test lets them: their buffers are full. */
const stalled = await watch(3);
const [asking, ending, flooding, neverReading] = (await watch(4)) as [RawSocket, RawSocket, RawSocket, RawSocket];

/** Changes the room. Waits for a watcher after each change, so that no two changes share a push. */
async function change(times: number): Promise<number> {
  let seq = 0;
  for (let index = 0; index < times; index++) {
    ({ seq } = (await room.act('state', room.host, { state: { index: Math.random(), text } })).body.room);
    while (lastSeq(healthy[0]!) < seq) await new Promise((resolve) => setImmediate(resolve));
  }
  return seq;
}

/** Bytes in the kernel's send buffers of the service, by the client's port (proc(5), /proc/net/tcp). */
function waitingBytes(): Map<number, number> {
  const hex = `:${service.port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  return new Map(
    lines
      .filter(([, local]) => local?.endsWith(hex))
      .map(([, , remote, , queues]) => [parseInt(remote!.split(':')[1]!, 16), parseInt(queues!.split(':')[0]!, 16)]),
  );
}

/** Changes the room until the buffers of these sockets take no more. */
async function fill(sockets: RawSocket[]): Promise<void> {
  let before = waitingBytes();
  for (;;) {
    await change(10);
    const now = waitingBytes();
    if (sockets.every((raw) => now.get(raw.port)! > 100_000 && now.get(raw.port) === before.get(raw.port))) return;
    before = now;
  }
}

// Filling the buffers takes seconds. So the tests share them, in this order.
beforeAll(async () => {
  const full = [...stalled, asking, ending, flooding, neverReading];
  await eventually(() => [...full, ...healthy].every((raw) => raw.frames.length === 1));
  for (const raw of full) raw.pause();
  await fill(full);
});

afterAll(() => neverReading.destroy());

describe('a watcher whose buffers are full', () => {
  test('delays no other watcher', async () => {
    const [seq, before] = [await change(10), stalled.map((raw) => raw.frames.length)];
    await eventually(() => healthy.every((raw) => lastSeq(raw) === seq));
    expect(stalled.map((raw) => raw.frames.length)).toEqual(before);
  });

  test('gets the latest state when it reads again, not the states in between', async () => {
    const { seq } = await room.read();
    for (const raw of stalled) raw.resume();
    await eventually(() => stalled.every((raw) => lastSeq(raw) === seq));
    for (const raw of stalled) {
      expectRising(raw);
      // The states in the kernel's buffers, a gap, and the latest state.
      const [last, beforeLast] = seqs(raw).toReversed() as [number, number];
      expect(last - beforeLast).toBeGreaterThan(5);
    }
  });

  test('gets every state again once it has caught up', async () => {
    const { seq } = await room.read();
    const after = await change(5);
    await eventually(() => stalled.every((raw) => lastSeq(raw) === after));
    for (const raw of stalled) expect(seqs(raw).slice(-5)).toEqual([1, 2, 3, 4, 5].map((step) => seq + step));
  });

  test('gets the answers to its messages when it reads again, in order, and no state twice', async () => {
    asking.text('{"type":"nonsense"}');
    asking.text(JSON.stringify({ type: 'hello', installId: players[0] }));
    await eventually(() => healthy[0]!.messages.at(-1).room.players[1].connected);
    asking.resume();
    await eventually(() => answers(asking).length === 2);
    expect(answers(asking).map(({ type }) => type)).toEqual(['error', 'welcome']);
    const { seq } = await room.read();
    await eventually(() => seqs(asking).at(-1) === seq);
    expectRising(asking);
  });

  test('is ended when it sends too many bad messages, and learns why when it reads again', async () => {
    flooding.write(Buffer.concat(Array.from({ length: 60 }, () => frame(opcodes.text, '{"type":"nonsense"}'))));
    flooding.resume();
    expect(await flooding.closed()).toBe(4400);
    expect(answers(flooding).length).toBe(3);
  });

  test('gets the last state of a room that ended, and then 4501', async () => {
    const { body } = await room.act('end', room.host);
    for (const raw of [...healthy, ...stalled, asking]) expect(await raw.closed()).toBe(4501);
    ending.resume();
    expect(await ending.closed()).toBe(4501);
    expectRising(ending);
    expect(seqs(ending).at(-1)).toBeGreaterThanOrEqual(body.room.seq);
    expect(ending.messages.at(-1).room.phase).toBe('ended');
  });

  test('does not keep a drain waiting', async () => {
    await service.service.drain();
    await eventually(() => neverReading.frames.at(-1) !== undefined);
  });
});
