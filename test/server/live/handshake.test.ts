import { expect, test } from 'vitest';
import { forFile, note } from '../../harness.ts';
import { sendRaw, statusesIn } from '../../raw.ts';
import { open } from '../../features/rooms/room.ts';
import { ownRedis } from '../../realtime/own.ts';

const redis = await forFile(ownRedis());
const service = await forFile(redis.start());
const room = await open(service, { maxPlayers: 64 });
const path = `/v1/rooms/${room.code}/live`;

/** Sends an upgrade with these header lines beside Host and no others. */
const handshake = async (...lines: string[]): Promise<[status: number, field: string | undefined, text: string]> => {
  const { text } = await sendRaw(service.port, [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${service.port}`, ...lines, '', ''].join('\r\n'));
  const { error } = text.includes('{"ok":false') ? JSON.parse(text.slice(text.indexOf('{"ok"'))) : { error: {} };
  if (error.code !== undefined) note(undefined, error.code);
  return [statusesIn(text)[0]!, error.field ?? error.code, text];
};
const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
const VERSION = 'Sec-WebSocket-Version: 13';
const ASKS = ['Connection: Upgrade', 'Upgrade: websocket'];

test.each([
  [...ASKS, VERSION, KEY],
  ['connection: keep-alive, UPGRADE', 'upgrade: WebSocket', VERSION, KEY],
  ['Connection: Upgrade', 'Upgrade: h2c, websocket', VERSION, KEY],
])('an upgrade that follows RFC 6455, section 4.2.1, is answered 101: %s, %s', async (...lines) => {
  expect((await handshake(...lines))[0]).toBe(101);
});

test.each([[['Sec-WebSocket-Version: 8']], [['Sec-WebSocket-Version: 13, 8']], [['Sec-WebSocket-Version:']], [[]]])(
  'an upgrade with the version lines %j is answered 426, with the version that the service speaks',
  async (lines) => {
    const [status, code, text] = await handshake(...ASKS, ...lines, KEY);
    expect([status, code]).toEqual([426, 'upgrade_required']);
    expect(text).toMatch(/^sec-websocket-version: 13\r$/im);
    expect(text).toMatch(/^upgrade: websocket\r$/im);
  },
);

test.each<readonly [string, readonly string[], string]>([
  ['no Upgrade', ['Connection: Upgrade', VERSION, KEY], 'upgrade'],
  ['another Upgrade', ['Connection: Upgrade', 'Upgrade: h2c', VERSION, KEY], 'upgrade'],
  ['no Connection', ['Upgrade: websocket', VERSION, KEY], 'connection'],
  ...['close', 'abcde', 'keep-alive', ''].map(
    (value) => [`Connection: ${value}`, [`Connection: ${value}`, 'Upgrade: websocket', VERSION, KEY], 'connection'] as const,
  ),
  ['no key', [...ASKS, VERSION], 'sec-websocket-key'],
  ['an empty key', [...ASKS, VERSION, 'Sec-WebSocket-Key:'], 'sec-websocket-key'],
  ['a key of 15 bytes', [...ASKS, VERSION, 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAA'], 'sec-websocket-key'],
  ['a key of 18 bytes', [...ASKS, VERSION, 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAAAA'], 'sec-websocket-key'],
  ['a key that is no base64', [...ASKS, VERSION, 'Sec-WebSocket-Key: !!!!!!!!!!!!!!!!!!!!!!!!'], 'sec-websocket-key'],
  ['two keys', [...ASKS, VERSION, KEY, KEY], 'sec-websocket-key'],
  ['two versions', [...ASKS, VERSION, VERSION, KEY], 'sec-websocket-version'],
  ['two origins', [...ASKS, VERSION, KEY, 'Origin: https://evil.example', 'Origin: http://127.0.0.1'], 'origin'],
  ['a Connection header of five bytes, which uWS takes for close', ['Connection: aa,bb', ...ASKS, VERSION, KEY], 'connection'],
  ['a Connection header of five bytes that are not ASCII', ['Connection: cl\u00c3\u00a9e', ...ASKS, VERSION, KEY], 'connection'],
  ['Connection: Upgrade, close', ['Connection: Upgrade, close', 'Upgrade: websocket', VERSION, KEY], 'connection'],
  ['a Content-Length', [...ASKS, VERSION, KEY, 'Content-Length: 0'], 'content-length'],
  ['a chunked body', [...ASKS, VERSION, KEY, 'Transfer-Encoding: chunked'], 'content-length'],
])('an upgrade with %s is refused, and the refusal names the header', async (_, lines, field) => {
  expect((await handshake(...lines)).slice(0, 2)).toEqual([400, field]);
});

test('a plain GET of a channel is refused as invalid_request, a POST as method_not_allowed', async () => {
  const { status, body } = await service.get(path);
  expect([status, body.error.code]).toEqual([400, 'invalid_request']);
  const posted = await service.post('/v1/pair/live', {});
  expect([posted.status, posted.body.error.code, posted.headers.get('allow')]).toEqual([405, 'method_not_allowed', 'GET, OPTIONS']);
});
