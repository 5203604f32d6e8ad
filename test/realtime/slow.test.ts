import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { open, type TestRoom } from '../features/rooms/room.ts';
import { ownRedis } from './own.ts';
import { frame, opcodes, RawSocket } from './raw-socket.ts';
import { eventually } from './watcher.ts';

/** With 64 players of long names and a state as large as may be, a message of some 18 KB. */
const text = 'x'.repeat(8000);

const seqs = (raw: RawSocket): number[] => raw.messages.filter(({ type }) => type === 'room').map(({ seq }) => seq);
const answers = (raw: RawSocket) => raw.messages.filter(({ type }) => type !== 'room');

/** Of the last frame alone, and cheaply: it is asked for all the time. */
function lastSeq(raw: RawSocket): number {
  return Number(/^{"type":"room","seq":(\d+)/.exec(raw.frames.at(-1)?.payload.subarray(0, 60).toString() ?? '')?.[1] ?? 0);
}

/** Changes the room so often that each change is pushed by itself: it waits for a watcher who reads. */
async function change(room: TestRoom, reader: RawSocket, times: number): Promise<number> {
  let seq = 0;
  for (let index = 0; index < times; index++) {
    ({ seq } = (await room.act('state', room.host, { state: { index: Math.random(), text } })).body.room);
    while (lastSeq(reader) < seq) await new Promise((resolve) => setImmediate(resolve));
  }
  return seq;
}

/** How much of what the service sent waits in the kernel, by the client's port. */
function waitingBytes(port: number): Map<number, number> {
  const hex = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
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
async function fill(port: number, room: TestRoom, reader: RawSocket, stalled: RawSocket[]): Promise<void> {
  let before = waitingBytes(port);
  for (;;) {
    await change(room, reader, 10);
    const now = waitingBytes(port);
    if (stalled.every((raw) => now.get(raw.port)! > 100_000 && now.get(raw.port) === before.get(raw.port))) return;
    before = now;
  }
}

function expectNoneTwice(raw: RawSocket): void {
  const seen = seqs(raw);
  expect(seen).toEqual([...new Set(seen)].sort((one, other) => one - other));
}

test('watchers that read nothing: nobody waits for them, and what they find when they read again is the latest', async () => {
  await using redis = await ownRedis();
  // Buffers have to be filled, which the bound on a room's bytes would make a matter of minutes.
  const service = await redis.start({ settings: { ROOM_BYTES_PER_SECOND: '1000000000' } });
  const room = await open(service, { maxPlayers: 64 });
  const others = await Promise.all(
    Array.from({ length: 63 }, (_, index) => room.join(`${'a player of a long name '.slice(0, 21)}${index + 1}`)),
  );
  const watch = (count: number): Promise<RawSocket[]> =>
    Promise.all(Array.from({ length: count }, () => RawSocket.open(service.port, `/v1/rooms/${room.code}/live`)));
  const [stalled, healthy] = await Promise.all([watch(10), watch(10)]);
  const [asking, ending, wild, gone] = (await watch(4)) as [RawSocket, RawSocket, RawSocket, RawSocket];
  const full = [...stalled, asking, ending, wild, gone];
  await eventually(() => [...full, ...healthy].every((raw) => raw.frames.length === 1));
  for (const raw of full) raw.pause();
  await fill(service.port, room, healthy[0]!, full);

  // While they are full: everybody else has everything at once.
  const startedAt = performance.now();
  const seq = await change(room, healthy[0]!, 10);
  await eventually(() => healthy.every((raw) => lastSeq(raw) === seq), 1000);
  expect(performance.now() - startedAt).toBeLessThan(2000);

  // Reading again, they get the latest and not the backlog, and then every one.
  for (const raw of stalled) raw.resume();
  await eventually(() => stalled.every((raw) => lastSeq(raw) === seq));
  for (const raw of stalled) {
    expectNoneTwice(raw);
    const seen = seqs(raw);
    // What was in the kernel's buffers, then a gap, then the last.
    expect(seen.at(-1)! - seen.at(-2)!).toBeGreaterThan(5);
  }
  const after = await change(room, healthy[0]!, 5);
  await eventually(() => stalled.every((raw) => lastSeq(raw) === after));
  for (const raw of stalled) expect(seqs(raw).slice(-5)).toEqual([1, 2, 3, 4, 5].map((step) => seq + step));

  // Answers wait for one that is full, in order, and no state is said twice for their sake.
  asking.text('{"type":"nonsense"}');
  asking.text(JSON.stringify({ type: 'hello', installId: others[0] }));
  await eventually(() => healthy[0]!.messages.at(-1).room.players[1].connected);
  asking.resume();
  await eventually(() => answers(asking).length === 2);
  expect(answers(asking).map(({ type }) => type)).toEqual(['error', 'welcome']);
  const { seq: standing } = await room.read();
  await eventually(() => seqs(asking).at(-1) === standing);
  expectNoneTwice(asking);

  // One that sends too much while it is full is heard no more, and told why once it reads.
  wild.write(Buffer.concat(Array.from({ length: 60 }, () => frame(opcodes.text, '{"type":"nonsense"}'))));
  wild.resume();
  expect(await wild.closed()).toBe(4400);
  expect(answers(wild).length).toBe(3);

  // The end of the room: one that was full gets the last state, then 4501.
  const { body } = await room.act('end', room.host);
  for (const raw of [...healthy, ...stalled, asking]) expect(await raw.closed()).toBe(4501);
  ending.resume();
  expect(await ending.closed()).toBe(4501);
  expectNoneTwice(ending);
  expect(seqs(ending).at(-1)).toBeGreaterThanOrEqual(body.room.seq);
  expect(ending.messages.at(-1).room.phase).toBe('ended');

  // And one that never reads does not keep a drain waiting.
  const drainAt = performance.now();
  await service[Symbol.asyncDispose]();
  expect(performance.now() - drainAt).toBeLessThan(3000);
  gone.destroy();
}, 60_000);
