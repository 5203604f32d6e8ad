import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshId, note, signIn, type TestService } from '../harness.ts';
import { sendRaw, statusesIn } from '../raw.ts';
import { open, type TestRoom } from '../features/rooms/room.ts';
import { ownRedis } from './own.ts';
import { frame, opcodes, RawSocket } from './raw-socket.ts';
import { eventually, watchRoom, type Watcher } from './watcher.ts';

let redis: Awaited<ReturnType<typeof ownRedis>>;
let service: TestService;
let room: TestRoom;
let witness: Watcher;
let path: string;

beforeAll(async () => {
  redis = await ownRedis();
  service = await redis.start();
  room = await open(service, { maxPlayers: 64 });
  path = `/v1/rooms/${room.code}/live`;
  witness = await watchRoom(service, room.code);
});

afterAll(async () => {
  // Whatever was sent above, the others have everything.
  const { body } = await room.act('state', room.host, { state: 'still here' });
  expect((await witness.reaches(body.room.seq)).state).toBe('still here');
  expect(witness.faults).toEqual([]);
  await witness.close();
  await service[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
});

const socket = (): Promise<RawSocket> => RawSocket.open(service.port, path);
const answers = (raw: RawSocket) => raw.messages.filter(({ type }) => type !== 'room');

describe('a frame that', () => {
  test('is one of several, one byte at a time, makes one message', async () => {
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
    expect(answers(raw)).toEqual([{ type: 'welcome', you: { playerId: 'p1', host: true } }]);
    expect(raw.frames.find(({ opcode }) => opcode === opcodes.pong)?.payload.toString()).toBe('in between');
    raw.destroy();
  });

  test('is as large as may be is read, one byte more ends the socket with 1009', async () => {
    const raw = await socket();
    const text = JSON.stringify({ type: 'hello', installId: room.host, more: '' });
    raw.text(text.replace('""', `"${'x'.repeat(16_384 - text.length)}"`));
    await eventually(() => answers(raw).length === 1);
    expect(answers(raw)[0].type).toBe('welcome');
    raw.text('x'.repeat(16_385));
    expect(await raw.closed()).toBe(1009);
  });

  test.each([
    ['larger than 64 KiB', frame(opcodes.text, 'x'.repeat(65_537))],
    ['announced as larger than anything', Buffer.from([0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4])],
    ['of an opcode that is none', frame(3, 'x')],
    ['of a control opcode that is none', frame(11, 'x')],
    ['with a reserved bit set', Buffer.concat([Buffer.from([0xc1]), frame(opcodes.text, '{}').subarray(1)])],
    ['a continuation of nothing', frame(opcodes.continuation, 'x')],
    ['a fragmented ping', frame(opcodes.ping, 'x', { isLast: false })],
    ['a ping of more than 125 bytes', frame(opcodes.ping, 'x'.repeat(126))],
    ['not valid UTF-8', frame(opcodes.text, Buffer.from([0x22, 0xc3, 0x28, 0x22]))],
    ['a surrogate in UTF-8', frame(opcodes.text, Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))],
  ])('is %s ends its own socket', async (_, bytes) => {
    const raw = await socket();
    raw.write(bytes);
    await raw.closed();
    expect(answers(raw)).toEqual([]);
  });

  test('is not masked is never taken for what it says, and ends its own socket', async () => {
    const raw = await socket();
    // uWS takes the first four bytes for the mask and whatever follows for the rest: it does not look at the mask bit.
    for (let times = 0; times < 3; times++)
      raw.write(frame(opcodes.text, JSON.stringify({ type: 'hello', installId: room.host }), { isMasked: false }));
    await raw.closed();
    expect(answers(raw).filter(({ type }) => type !== 'error')).toEqual([]);
  });

  test('says close is answered with its code', async () => {
    const raw = await socket();
    raw.write(frame(opcodes.close, Buffer.from([0x03, 0xe8])));
    expect(await raw.closed()).toBe(1000);
  });
});

describe('messages', () => {
  test.each([
    ['JSON that is none', '{"type":'],
    ['no object', '"hello"'],
    ['null', 'null'],
    ['an empty text', ''],
    ['no type', '{}'],
    ['a type that is no text', '{"type":7}'],
    ['an unknown type', '{"type":"bye"}'],
    ['a type that every object has', '{"type":"constructor"}'],
    ['another one', '{"type":"__proto__"}'],
    ['a hello without its installId', '{"type":"hello"}'],
    ['a hello with a number for it', '{"type":"hello","installId":12345678}'],
    ['a hello with one too short', '{"type":"hello","installId":"short"}'],
  ])('%s: told so, and the third time closed with 4400', async (_, text) => {
    const watcher = await watchRoom(service, room.code);
    for (let times = 0; times < 3; times++) watcher.send(text);
    expect((await watcher.closed).code).toBe(4400);
    const told = watcher.messages.filter(({ type }) => type === 'error');
    expect(told).toHaveLength(3);
    for (const { error } of told) {
      expect(error.code).toBe('invalid_request');
      expect(error.message).not.toBe('');
    }
  });

  test('as binary frames are not understood either', async () => {
    const watcher = await watchRoom(service, room.code);
    for (let times = 0; times < 3; times++) watcher.send(Buffer.from(JSON.stringify({ type: 'hello', installId: room.host })));
    expect((await watcher.closed).code).toBe(4400);
  });

  test('that are understood in between do not start the count again', async () => {
    const watcher = await watchRoom(service, room.code);
    watcher.send('{}');
    watcher.send('{}');
    expect((await watcher.hello(room.host)).type).toBe('error');
    await watcher.until(({ type }) => type === 'welcome');
    watcher.send('{}');
    expect((await watcher.closed).code).toBe(4400);
  });

  test('of strangers are told so, as often as they like', async () => {
    const watcher = await watchRoom(service, room.code);
    for (let times = 0; times < 5; times++) {
      expect((await watcher.hello(freshId())).error).toEqual({ code: 'not_in_room', message: 'Only players in the room may do this.' });
    }
    expect(watcher.isClosed).toBe(false);
    await watcher.close();
  });

  test('beyond 20 a second end the socket with 4429', async () => {
    const watcher = await watchRoom(service, room.code);
    // More than two seconds' worth at once: whenever the second turns, one of them has too many.
    for (let times = 0; times < 45; times++) watcher.send({ type: 'hello', installId: room.host });
    expect((await watcher.closed).code).toBe(4429);
  });

  test('of one player who goes wild reach nobody else', async () => {
    const before = witness.messages.length;
    const raw = await socket();
    raw.write(Buffer.concat(Array.from({ length: 200 }, (_, index) => frame(opcodes.text, `{"type":"x${index}"}`))));
    expect(await raw.closed()).toBe(4400);
    expect(witness.messages.slice(before).filter(({ type }) => type !== 'room')).toEqual([]);
  });
});

describe('an upgrade', () => {
  const refusals = async (headers: Record<string, string>, at = path): Promise<[number, string]> => {
    const raw = await RawSocket.open(service.port, at, headers);
    raw.destroy();
    expect(raw.response.toLowerCase()).toContain('content-type: application/json');
    expect(raw.body).toEqual({ ok: false, error: expect.objectContaining({ message: expect.any(String) }), requestId: expect.any(String) });
    return [raw.status, raw.body.error.code];
  };

  test('from a foreign origin is refused, with a cookie and without', async () => {
    const cookie = await signIn(service, room.host);
    for (const origin of [
      'https://evil.example',
      'null',
      `http://127.0.0.1:${service.port}.evil.example`,
      `http://127.0.0.1:${service.port + 1}`,
    ]) {
      expect(await refusals({ origin })).toEqual([403, 'cross_site']);
      expect(await refusals({ origin, cookie })).toEqual([403, 'cross_site']);
    }
    const own = await RawSocket.open(service.port, path, { origin: `http://127.0.0.1:${service.port}` });
    expect(own.status).toBe(101);
    own.destroy();
  });

  test('from an allowed origin is let in', async () => {
    await using friendly = await redis.start({ settings: { ALLOWED_ORIGINS: 'https://play.example' } });
    const raw = await RawSocket.open(friendly.port, path, { origin: 'https://play.example' });
    expect(raw.status).toBe(101);
    raw.destroy();
  });

  test('to a room or pairing that does not exist is refused', async () => {
    for (const code of ['BBBBB', 'AEIOU', 'x', '%00', '%E2%80'])
      expect((await refusals({}, `/v1/rooms/${code}/live`))[0]).toBe(code === '%E2%80' ? 400 : 404);
    expect(await refusals({}, '/v1/rooms/BBBBB/live')).toEqual([404, 'room_not_found']);
    expect(await refusals({}, `/v1/pair/live?token=${'x'.repeat(24)}`)).toEqual([404, 'pair_not_found']);
    expect(await refusals({}, '/v1/pair/live?token=short')).toEqual([404, 'pair_not_found']);
    expect(await refusals({}, '/v1/pair/live')).toEqual([400, 'invalid_request']);
  });

  test('takes the code as people type it', async () => {
    const raw = await RawSocket.open(service.port, `/v1/rooms/${room.code.toLowerCase().slice(0, 2)}-${room.code.slice(2)}/live`);
    expect(raw.status).toBe(101);
    await eventually(() => raw.messages.length === 1);
    expect(raw.messages[0].room.code).toBe(room.code);
    raw.destroy();
  });

  test('that says Connection: close, or anything else but Upgrade, is refused', async () => {
    for (const connection of ['close', 'abcde', 'keep-alive', '']) expect(await refusals({ connection })).toEqual([400, 'invalid_request']);
    for (const connection of ['upgrade', 'keep-alive, Upgrade']) {
      const raw = await RawSocket.open(service.port, path, { connection });
      expect(raw.status).toBe(101);
      raw.destroy();
    }
  });

  /** Refused, whatever RawSocket would add: the lines are all there is. */
  const handshake = async (...lines: string[]): Promise<[status: number, field: string | undefined, text: string]> => {
    const { text } = await sendRaw(
      service.port,
      [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${service.port}`, ...lines, '', ''].join('\r\n'),
    );
    const { error } = text.includes('{"ok":false') ? JSON.parse(text.slice(text.indexOf('{"ok"'))) : { error: {} };
    if (error.code !== undefined) note(undefined, error.code);
    return [statusesIn(text)[0]!, error.field ?? error.code, text];
  };
  const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
  const VERSION = 'Sec-WebSocket-Version: 13';
  const ASKS = ['Connection: Upgrade', 'Upgrade: websocket'];

  test('that keeps RFC 6455, section 4.2.1, is let in', async () => {
    expect((await handshake(...ASKS, VERSION, KEY))[0]).toBe(101);
    expect((await handshake('connection: keep-alive, UPGRADE', 'upgrade: WebSocket', VERSION, KEY))[0]).toBe(101);
    expect((await handshake('Connection: Upgrade', 'Upgrade: h2c, websocket', VERSION, KEY))[0]).toBe(101);
  });

  test.each([
    [['Sec-WebSocket-Version: 8']],
    [['Sec-WebSocket-Version: 14']],
    [['Sec-WebSocket-Version: 13, 8']],
    [['Sec-WebSocket-Version:']],
    [[]],
  ])('of version %j is 426 and told the one that is spoken', async (lines) => {
    const [status, code, text] = await handshake(...ASKS, ...lines, KEY);
    expect([status, code]).toEqual([426, 'upgrade_required']);
    expect(text).toMatch(/^sec-websocket-version: 13\r$/im);
    expect(text).toMatch(/^upgrade: websocket\r$/im);
  });

  test.each([
    ['no Upgrade', ['Connection: Upgrade', VERSION, KEY], 'upgrade'],
    ['another Upgrade', ['Connection: Upgrade', 'Upgrade: h2c', VERSION, KEY], 'upgrade'],
    ['an Upgrade that only begins so', ['Connection: Upgrade', 'Upgrade: websockets', VERSION, KEY], 'upgrade'],
    ['no Connection', ['Upgrade: websocket', VERSION, KEY], 'connection'],
    ['no key', [...ASKS, VERSION], 'sec-websocket-key'],
    ['an empty key', [...ASKS, VERSION, 'Sec-WebSocket-Key:'], 'sec-websocket-key'],
    ['a key of 15 bytes', [...ASKS, VERSION, 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAA'], 'sec-websocket-key'],
    ['a key of 17 bytes', [...ASKS, VERSION, 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAAA='], 'sec-websocket-key'],
    ['a key of 18 bytes', [...ASKS, VERSION, 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAAAA'], 'sec-websocket-key'],
    ['a key that is no base64', [...ASKS, VERSION, 'Sec-WebSocket-Key: !!!!!!!!!!!!!!!!!!!!!!!!'], 'sec-websocket-key'],
    ['two keys', [...ASKS, VERSION, KEY, KEY], 'sec-websocket-key'],
    ['two versions', [...ASKS, VERSION, VERSION, KEY], 'sec-websocket-version'],
    ['two origins', [...ASKS, VERSION, KEY, 'Origin: https://evil.example', 'Origin: http://127.0.0.1'], 'origin'],
    ['close, by its length alone', ['Connection: aa,bb', ...ASKS, VERSION, KEY], 'connection'],
    ['close, in letters that are not ASCII', ['Connection: cl\u00c3\u00a9e', ...ASKS, VERSION, KEY], 'connection'],
    ['close besides', ['Connection: Upgrade, close', 'Upgrade: websocket', VERSION, KEY], 'connection'],
    ['a length', [...ASKS, VERSION, KEY, 'Content-Length: 0'], 'content-length'],
    ['chunks', [...ASKS, VERSION, KEY, 'Transfer-Encoding: chunked'], 'content-length'],
  ])('with %s is refused by name', async (_, lines, field) => {
    expect((await handshake(...lines)).slice(0, 2)).toEqual([400, field]);
  });

  test('whose second Origin is its own is refused, for the first one is foreign', async () => {
    const own = `Origin: http://127.0.0.1:${service.port}`;
    expect((await handshake(...ASKS, VERSION, KEY, own))[0]).toBe(101);
    expect((await handshake(...ASKS, VERSION, KEY, 'Origin: https://evil.example', own)).slice(0, 2)).toEqual([400, 'origin']);
    expect((await handshake(...ASKS, VERSION, KEY, own, 'Origin: https://evil.example')).slice(0, 2)).toEqual([400, 'origin']);
  });

  test('without the headers of one is a request that is refused', async () => {
    const { status, body } = await service.get(path);
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    const posted = await service.post('/v1/pair/live', {});
    expect([posted.status, posted.body.error.code, posted.headers.get('allow')]).toEqual([405, 'method_not_allowed', 'GET, OPTIONS']);
  });

  test('leaves the socket open: every one of 180, each with a first state', async () => {
    const rooms = await Promise.all(Array.from({ length: 9 }, () => open(service)));
    const raws: RawSocket[] = [];
    for (let round = 0; round < 20; round++) {
      raws.push(...(await Promise.all(rooms.map(({ code }) => RawSocket.open(service.port, `/v1/rooms/${code}/live`)))));
    }
    await eventually(() => raws.every(({ messages }) => messages.length === 1));
    await Promise.all(rooms.map(({ host, act }) => act('lock', host)));
    await eventually(() => raws.every(({ messages, isClosed }) => messages.length === 2 && !isClosed));
    for (const raw of raws) raw.destroy();
  });

  test('beyond SOCKETS_PER_ADDRESS is refused until one goes', async () => {
    await using strict = await redis.start({ settings: { SOCKETS_PER_ADDRESS: '3' } });
    const all = await Promise.all(Array.from({ length: 10 }, () => RawSocket.open(strict.port, path)));
    const admitted = all.filter(({ status }) => status === 101);
    expect(admitted).toHaveLength(3);
    const refused = all.find(({ status }) => status !== 101)!;
    expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited']);
    expect(refused.response.toLowerCase()).toContain('retry-after:');
    admitted[0]!.destroy();
    await eventually(async () => {
      const raw = await RawSocket.open(strict.port, path);
      if (raw.status === 101) admitted.push(raw);
      return raw.status === 101;
    });
    expect((await RawSocket.open(strict.port, path)).status).toBe(429);
    for (const raw of all.concat(admitted)) raw.destroy();
  });

  test('beyond WATCHERS_PER_ROOM is refused, however many come at once', async () => {
    await using strict = await redis.start({ settings: { WATCHERS_PER_ROOM: '5' } });
    const all = await Promise.all(Array.from({ length: 30 }, () => RawSocket.open(strict.port, path)));
    expect(all.filter(({ status }) => status === 101)).toHaveLength(5);
    const refused = all.find(({ status }) => status !== 101)!;
    expect([refused.status, refused.body.error.code]).toEqual([503, 'overloaded']);
    for (const raw of all) raw.destroy();
  });

  test('for codes that are none counts as guessing', async () => {
    await using limited = await redis.start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_MISSES_PER_MINUTE: '2' } });
    const statuses = [];
    for (const code of ['BBBBB', 'BBBBC', 'BBBBD']) {
      const raw = await RawSocket.open(limited.port, `/v1/rooms/${code}/live`);
      statuses.push(raw.status);
      raw.destroy();
    }
    expect(statuses).toEqual([404, 404, 429]);
  });

  test('abandoned by its client leaves nothing behind', async () => {
    const quiet = await open(service);
    await Promise.all(
      Array.from({ length: 30 }, async () => {
        const opening = RawSocket.open(service.port, `/v1/rooms/${quiet.code}/live`);
        (await opening).destroy();
      }),
    );
    await eventually(async () => Number((await service.service.redis.pubsub('NUMSUB', `{room:${quiet.code}}`))[1]) === 0);
  });
});
