import { afterAll, describe, expect, test } from 'vitest';
import { forFile, freshId, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { open } from '../../features/rooms/room.ts';
import { ownRedis } from '../../realtime/own.ts';
import { frame, opcodes, RawSocket } from '../../realtime/raw-socket.ts';
import { eventually, watchRoom } from '../../realtime/watcher.ts';

const redis = await forFile(ownRedis());
const service = await forFile(redis.start());
const room = await open(service, { maxPlayers: 64 });
const witness = await watchRoom(service, room.code);

afterAll(async () => {
  // The witness received each state of its room, and no other message. The other sockets could not disturb it.
  const { body } = await room.act('state', room.host, { state: 'still here' });
  expect((await witness.reaches(body.room.seq)).state).toBe('still here');
  expect([witness.faults, witness.messages.filter(({ type }) => type !== 'room')]).toEqual([[], []]);
  await witness.close();
});

const socket = (): Promise<RawSocket> => RawSocket.open(service.port, `/v1/rooms/${room.code}/live`);
const answers = (raw: RawSocket) => raw.messages.filter(({ type }) => type !== 'room');

describe('a frame', () => {
  test('in fragments, a byte a segment and a ping in between, makes one message', async () => {
    const raw = await socket();
    const hello = JSON.stringify({ type: 'hello', installId: room.host });
    const bytes = Buffer.concat([
      frame(opcodes.text, hello.slice(0, 5), { isLast: false }),
      frame(opcodes.ping, 'in between'),
      frame(opcodes.continuation, hello.slice(5, 20), { isLast: false }),
      frame(opcodes.continuation, hello.slice(20)),
    ]);
    for (const byte of bytes) raw.write(Buffer.from([byte]));
    await eventually(() => answers(raw).length === 1);
    expect(answers(raw)).toEqual([{ type: 'welcome', you: { playerId: 'p1', host: true }, now: expect.any(Number) }]);
    expect(raw.frames.find(({ opcode }) => opcode === opcodes.pong)?.payload.toString()).toBe('in between');
    raw.destroy();
  });

  test('of 16 KiB is read, and one byte more ends the socket with 1009', async () => {
    const raw = await socket();
    const text = JSON.stringify({ type: 'hello', installId: room.host, more: '' });
    raw.text(text.replace('""', `"${'x'.repeat(16_384 - text.length)}"`));
    await eventually(() => answers(raw).length === 1);
    expect(answers(raw)[0].type).toBe('welcome');
    raw.text('x'.repeat(16_385));
    expect(await raw.closed()).toBe(1009);
  });

  test.each([
    ['of more than 64 KiB', frame(opcodes.text, 'x'.repeat(65_537))],
    ['that announces 2^63 - 1 bytes', Buffer.from([0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4])],
    ['with a data opcode that does not exist', frame(3, 'x')],
    ['with a control opcode that does not exist', frame(11, 'x')],
    ['with a reserved bit set', Buffer.concat([Buffer.from([0xc1]), frame(opcodes.text, '{}').subarray(1)])],
    ['that continues nothing', frame(opcodes.continuation, 'x')],
    ['that is the first fragment of a ping', frame(opcodes.ping, 'x', { isLast: false })],
    ['that is a ping of more than 125 bytes', frame(opcodes.ping, 'x'.repeat(126))],
    ['that is not valid UTF-8', frame(opcodes.text, Buffer.from([0x22, 0xc3, 0x28, 0x22]))],
    ['that holds a surrogate in UTF-8', frame(opcodes.text, Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))],
  ])('%s ends its own socket', async (_, bytes) => {
    const raw = await socket();
    raw.write(bytes);
    await raw.closed();
    expect(answers(raw)).toEqual([]);
  });

  test('that is not masked is not understood, and ends its own socket', async () => {
    const raw = await socket();
    // uWS does not look at the mask bit: it takes the first four bytes of the payload for the mask.
    for (let times = 0; times < 3; times++)
      raw.write(frame(opcodes.text, JSON.stringify({ type: 'hello', installId: room.host }), { isMasked: false }));
    await raw.closed();
    expect(answers(raw).filter(({ type }) => type !== 'error')).toEqual([]);
  });

  test('that closes the connection is answered with the same code', async () => {
    const raw = await socket();
    raw.write(frame(opcodes.close, Buffer.from([0x03, 0xe8])));
    expect(await raw.closed()).toBe(1000);
  });

  test('of a ping is answered, but a flood of pings ends the socket with 4429', async () => {
    const raw = await socket();
    for (let index = 0; index < 60; index++) raw.write(frame(opcodes.ping, ''));
    expect(await raw.closed()).toBe(4429);
  });
});

describe('a message', () => {
  test.each([
    ...['', 'null', '"hello"', '{"type":', '{}', '{"type":7}', '{"type":"bye"}', '{"type":"constructor"}', '{"type":"__proto__"}'],
    ...['{"type":"hello"}', '{"type":"hello","installId":12345678}', '{"type":"hello","installId":"short"}'],
    Buffer.from(`{"type":"hello","installId":"${room.host}"}`),
  ])('of %j is answered invalid_request, and the third ends the socket with 4400', async (sent) => {
    const watcher = await watchRoom(service, room.code);
    for (let times = 0; times < 3; times++) watcher.send(sent);
    expect((await watcher.closed).code).toBe(4400);
    const told = watcher.messages.filter(({ type }) => type === 'error').map(({ error }) => error);
    expect(told).toMatchObject(Array(3).fill({ code: 'invalid_request', message: expect.stringMatching(/./) }));
  });

  test('that is understood does not start the count of bad messages again', async () => {
    const watcher = await watchRoom(service, room.code);
    watcher.send('{}');
    watcher.send('{}');
    expect((await watcher.hello(room.host)).type).toBe('error');
    await watcher.until(({ type }) => type === 'welcome');
    watcher.send('{}');
    expect((await watcher.closed).code).toBe(4400);
  });

  test('of a stranger is answered not_in_room, and does not count as a bad message', async () => {
    const watcher = await watchRoom(service, room.code);
    for (let times = 0; times < 5; times++) {
      expect((await watcher.hello(freshId())).error).toEqual({ code: 'not_in_room', message: 'Only players in the room may do this.' });
    }
    expect(watcher.isClosed).toBe(false);
    await watcher.close();
  });

  test('beyond 20 a second ends the socket with 4429', async () => {
    const watcher = await watchRoom(service, room.code);
    // More than twice the bound at once: wherever a second ends among them, one of the two seconds has too many.
    for (let times = 0; times < 45; times++) watcher.send({ type: 'hello', installId: room.host });
    expect((await watcher.closed).code).toBe(4429);
  });

  test('is refused while one is done and another waits', async () => {
    await using paused = await startRedis();
    await using slow = await start({ redis: paused.location });
    const { body } = await slow.post('/v1/rooms', { installId: freshId() });
    const watcher = await watchRoom(slow, body.room.code);
    await slow.service.redis.call('CLIENT', 'PAUSE', '1000', 'ALL');
    for (let index = 0; index < 6; index++) watcher.send({ type: 'hello', installId: freshId() });
    const codes = () => watcher.messages.filter(({ type }) => type === 'error').map(({ error }) => error.code);
    await eventually(() => codes().length === 6);
    expect(codes()).toEqual([...Array(4).fill('rate_limited'), 'not_in_room', 'not_in_room']);
    await watcher.close();
  });
});
