import { randomBytes } from 'node:crypto';
import { frame, opcodes } from '../realtime/raw-socket.ts';

/** A stream of bytes that one connection sends without end, as fast as the service takes them. */
export interface Flood {
  readonly name: string;
  /** Sent once, when the connection is open. */
  readonly opening?: (target: Target, connection: number) => string | Buffer;
  /** The start of the answer to `opening` that the flood waits for. Default: it does not wait. */
  readonly awaits?: string;
  /** Sent once, after that answer. */
  readonly afterAnswer?: (target: Target, connection: number) => Buffer;
  /** Sent again and again. @param connection its number @param count of units that it sent before */
  readonly unit: (target: Target, connection: number, count: number) => string | Buffer;
  /** Units a second of each connection, for a flood that stays within a limit. Default: as fast as the service takes them. */
  readonly perSecond?: number;
  /** The message of the service that a connection waits for before it sends units. Default: it begins after the answer to `opening`. */
  readonly begins?: string;
  /** Numbers of connections to measure with. Default: 1 and 60. */
  readonly connections?: readonly number[];
  /** The connection sends this many bytes, and no more until the service has closed it. Default: it sends without end. */
  readonly stopsAfterBytes?: number;
  /** The connections are opened to METRICS_PORT. */
  readonly onMetricsPort?: boolean;
  /** The connection reads no answers, or no answers after the answer to `opening`. */
  readonly isDeaf?: boolean;
  /** The list of rooms changes four times a second during the flood. */
  readonly changesList?: boolean;
}

/** A flooding process prints this line when it begins. Its start before that costs as much CPU time as a flood. */
export const BEGUN = 'begun';

/** The target of a flood. */
export interface Target {
  readonly host: string;
  readonly room: string;
  readonly pairingToken: string;
  /** A room of 64 players who all may write its state, and their installIds. */
  readonly game: { readonly code: string; readonly players: readonly string[] };
  /** A game with a thousand public rooms, which all have the same eight long tags. */
  readonly list: { readonly game: string; readonly tags: Readonly<Record<string, string>> };
  /** The installId of an account that is as full as one can be. */
  readonly fullest: string;
}

const requestOf =
  (method: string, path: string, lines: readonly string[] = []) =>
  (target: Target) =>
    [`${method} ${path.replace('{room}', target.room)} HTTP/1.1`, `host: ${target.host}`, ...lines, '', ''].join('\r\n');

const upgradeLines = [
  'connection: Upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  `sec-websocket-key: ${randomBytes(16).toString('base64')}`,
];

const upgrade = requestOf('GET', '/v1/rooms/{room}/live', upgradeLines);

/** A query for rooms of the list with these of its tags. */
const listQuery = ({ list: { game, tags } }: Target, named = Object.entries(tags)): string =>
  [`game=${game}`, ...named.map(([name, text]) => `tag.${name}=${text}`)].join('&');

/** A query with all tags, the last of which no room has: the service has to compare each room's tags to the end. */
const futileQuery = (target: Target): string =>
  listQuery(target, [...Object.entries(target.list.tags).slice(0, -1), ['t7', randomBytes(8).toString('hex')]]);

/** A different query for each connection, and each finds the same rooms: some of the eight tags. */
const listQueryOf = (target: Target, connection: number): string =>
  listQuery(
    target,
    Object.entries(target.list.tags).filter((_, place) => ((connection + 1) >> place) & 1),
  );

/** Sockets that watch a list, and send nothing. */
function watchingList(name: string, more: Partial<Flood> = {}): Flood {
  return {
    name,
    opening: (target, connection) => requestOf('GET', `/v1/lobby/live?${listQueryOf(target, connection)}`, upgradeLines)(target),
    awaits: 'HTTP/1.1 101',
    unit: () => '',
    perSecond: 0,
    connections: [ALL_SOCKETS],
    changesList: true,
    ...more,
  };
}

/** The most sockets of one address (SOCKETS_PER_ADDRESS). */
const ALL_SOCKETS = 200;

/** Frames of a welcomed socket, below the number that closes it. */
const FRAMES_PER_SECOND = 110;

/** Sockets that are welcomed as players of a room, and send acts. @param act the fields of an act besides `type` and `order` */
function acting(name: string, act: (count: number) => object, more: Partial<Flood> = {}): Flood {
  return {
    name,
    opening: (target) => requestOf('GET', `/v1/rooms/${target.game.code}/live`, upgradeLines)(target),
    awaits: 'HTTP/1.1 101',
    afterAnswer: ({ game: { players } }, connection) =>
      frame(opcodes.text, JSON.stringify({ type: 'hello', installId: players[connection % players.length], tab: `t${connection}` })),
    unit: (_, __, count) => frame(opcodes.text, JSON.stringify({ type: 'act', order: count + 1, ...act(count) })),
    begins: '"type":"welcome"',
    perSecond: FRAMES_PER_SECOND,
    connections: [ALL_SOCKETS],
    ...more,
  };
}

/** A patch that fills a frame of 16 KiB: half of it stays in the state, which is then full, and half removes members that do not exist. */
const largePatches = Array.from({ length: 2 }, (_, value) => {
  const members = Array.from({ length: 850 }, (_, index) => `"k${index}":${value}`);
  const nothing = Array.from({ length: 500 }, (_, index) => `"n${index}":null`);
  return `{${[...members, ...nothing].join(',')}}`;
});

const largeAct = (count: number): string => `{"type":"act","order":${count + 1},"action":"state","merge":${largePatches[count % 2]}}`;

const json = 'content-type: application/json';

export const floods: readonly Flood[] = [
  { name: 'pipelined GET /health', unit: requestOf('GET', '/health') },
  { name: 'pipelined GET /health, answers unread', unit: requestOf('GET', '/health'), isDeaf: true },
  { name: 'pipelined HEAD /health', unit: requestOf('HEAD', '/health') },
  { name: 'pipelined OPTIONS', unit: requestOf('OPTIONS', '/v1/balance') },
  { name: 'pipelined GET of no path', unit: requestOf('GET', '/nothing') },
  { name: 'pipelined POST /health (405)', unit: requestOf('POST', '/health', ['content-length: 0']) },
  { name: 'pipelined GET /ready', unit: requestOf('GET', '/ready') },
  {
    name: 'pipelined GET of an account export page',
    unit: (target) => requestOf('GET', '/v1/account/export', [`x-install-id: ${target.fullest}`])(target),
  },
  {
    name: 'pipelined requests with a repeated header',
    unit: requestOf('GET', '/health', ['origin: http://a.example', 'origin: http://b.example']),
  },
  { name: 'pipelined GET of the sandbox store', unit: requestOf('GET', '/sandbox/jwks.json') },
  {
    name: 'pipelined requests to the sandbox as Google',
    unit: requestOf('GET', '/sandbox/androidpublisher/androidpublisher/v3/applications/a.b/purchases/subscriptionsv2/tokens/x', [
      'authorization: Bearer x',
    ]),
  },
  {
    name: 'endless chunked body after its 413',
    opening: requestOf('POST', '/v1/login', [json, 'transfer-encoding: chunked']),
    unit: () => '1\r\na\r\n',
  },
  {
    name: 'endless chunked body to no path',
    opening: requestOf('POST', '/nothing', [json, 'transfer-encoding: chunked']),
    unit: () => '1\r\na\r\n',
  },
  {
    name: 'endless chunked body of a GET',
    opening: requestOf('GET', '/v1/balance', ['transfer-encoding: chunked']),
    unit: () => '1\r\na\r\n',
  },
  {
    name: 'endless chunked body of a long-poll',
    opening: requestOf('GET', '/v1/rooms/{room}?wait=25&since=99', ['transfer-encoding: chunked']),
    unit: () => '1\r\na\r\n',
  },
  {
    name: 'endless body of a known length of a long-poll',
    opening: requestOf('GET', '/v1/rooms/{room}?wait=25&since=99', ['content-length: 1000000000000']),
    unit: () => 'a'.repeat(1024),
  },
  {
    name: 'endless chunked body of a request with a repeated header',
    opening: requestOf('POST', '/v1/login', [json, 'host: localhost', 'transfer-encoding: chunked']),
    unit: () => '1\r\na\r\n',
  },
  {
    name: 'endless body of another media type',
    opening: requestOf('POST', '/v1/login', ['content-type: text/plain', 'content-length: 1000000000000']),
    unit: () => 'a'.repeat(1024),
  },
  {
    name: 'bodies of 16 KiB in chunks of a byte',
    opening: requestOf('POST', '/v1/login', [json, 'transfer-encoding: chunked']),
    unit: () => '1\r\na\r\n',
    stopsAfterBytes: 6 * 16_384,
  },
  {
    name: 'endless body of a known length that nobody reads',
    opening: requestOf('POST', '/nothing', [json, 'content-length: 1000000000000']),
    unit: () => 'a'.repeat(1024),
  },
  {
    name: 'endless body of a known length, too large',
    opening: requestOf('POST', '/v1/login', [json, 'content-length: 1000000000000']),
    unit: () => 'a'.repeat(1024),
  },
  {
    name: 'endless body of a known length of a GET',
    opening: requestOf('GET', '/health', ['content-length: 1000000000000']),
    unit: () => 'a'.repeat(1024),
  },
  { name: 'endless headers', opening: () => 'GET /health HTTP/1.1\r\n', unit: () => 'a: b\r\n' },
  { name: 'endless empty lines', unit: () => '\r\n' },
  {
    name: 'endless empty WebSocket fragments',
    opening: upgrade,
    awaits: 'HTTP/1.1 101',
    unit: () => frame(opcodes.continuation, '', { isLast: false }),
  },
  {
    name: 'endless empty WebSocket fragments of a text message',
    opening: upgrade,
    awaits: 'HTTP/1.1 101',
    afterAnswer: () => frame(opcodes.text, '', { isLast: false }),
    unit: () => frame(opcodes.continuation, '', { isLast: false }),
  },
  { name: 'endless WebSocket pings', opening: upgrade, awaits: 'HTTP/1.1 101', unit: () => frame(opcodes.ping, '') },
  { name: 'endless WebSocket pongs', opening: upgrade, awaits: 'HTTP/1.1 101', unit: () => frame(opcodes.pong, '') },
  { name: 'endless WebSocket messages', opening: upgrade, awaits: 'HTTP/1.1 101', unit: () => frame(opcodes.text, '{}') },
  {
    name: 'endless WebSocket messages after its close',
    opening: upgrade,
    awaits: 'HTTP/1.1 101',
    afterAnswer: () => frame(opcodes.close, Buffer.from([3, 232])),
    unit: () => frame(opcodes.text, '{}'),
  },
  {
    name: 'endless WebSocket frames of a reserved opcode',
    opening: upgrade,
    awaits: 'HTTP/1.1 101',
    unit: () => frame(0xb as never, ''),
  },
  {
    name: 'endless compressed WebSocket frames, which were not agreed on',
    opening: upgrade,
    awaits: 'HTTP/1.1 101',
    unit: () => {
      const bytes = frame(opcodes.text, '{}');
      bytes[0]! |= 0x40;
      return bytes;
    },
  },
  { name: 'HTTP requests on a WebSocket', opening: upgrade, awaits: 'HTTP/1.1 101', unit: requestOf('GET', '/health') },
  { name: 'HTTP requests behind an upgrade', opening: upgrade, unit: requestOf('GET', '/health') },
  { name: 'pipelined requests of HTTP/1.0', unit: () => 'GET /health HTTP/1.0\r\n\r\n' },
  { name: 'METRICS_PORT: pipelined GET /metrics', onMetricsPort: true, unit: requestOf('GET', '/metrics') },
  { name: 'METRICS_PORT: pipelined requests with an Expect', onMetricsPort: true, unit: requestOf('GET', '/metrics', ['expect: x']) },
  {
    name: 'METRICS_PORT: endless chunked body',
    onMetricsPort: true,
    opening: requestOf('POST', '/metrics', ['transfer-encoding: chunked']),
    unit: () => '1\r\na\r\n',
  },
  {
    name: 'pipelined upgrades',
    unit: upgrade,
  },
  {
    name: 'QR images for a foreign host each',
    unit: (target) =>
      `GET /v1/pair/qr.svg?token=${target.pairingToken} HTTP/1.1\r\nhost: h${randomBytes(4).toString('hex')}.example\r\n\r\n`,
  },
  acting('acts that move', (count) => ({ action: 'data', data: { x: count, y: -count } })),
  acting('acts that send messages', (count) => ({ action: 'message', data: { count, text: 'm'.repeat(900) } })),
  acting('acts that merge 16 KiB', () => ({}), { unit: (_, __, count) => frame(opcodes.text, largeAct(count)), perSecond: 3 }),
  acting('acts of no action', () => ({ action: 'dance' })),
  acting('acts of one order', () => ({ action: 'data', order: 1, data: 1 })),
  acting('acts that move, answers unread', (count) => ({ action: 'data', data: { x: count } }), { isDeaf: true }),
  acting('acts against a stale state, answers unread', () => ({ action: 'state', state: 1, ifStateSeq: 1 }), { isDeaf: true }),
  acting('frames that only look like acts', () => ({}), {
    unit: () => frame(opcodes.text, `{"type":"act","order":${'9'.repeat(15_000)}`),
    perSecond: 3,
  }),
  acting('frames that only look like acts, welcome not awaited', () => ({}), {
    afterAnswer: () => frame(opcodes.text, '{"type":"act"'),
    unit: () => frame(opcodes.text, '{"type":"act","action":"data"}'),
    begins: '"type":"error"',
  }),
  { name: 'lists of rooms that no room fits', unit: (target) => requestOf('GET', `/v1/rooms?limit=100&${futileQuery(target)}`)(target) },
  {
    name: 'lists of rooms of 32 KiB',
    unit: (target) => requestOf('GET', `/v1/rooms?limit=100&cursor=9999999999999ZZZZZ&${listQuery(target, [])}`)(target),
  },
  {
    name: 'lists of rooms of 32 KiB, answers unread',
    unit: (target) => requestOf('GET', `/v1/rooms?limit=100&cursor=9999999999999ZZZZZ&${listQuery(target, [])}`)(target),
    isDeaf: true,
  },
  {
    name: 'matches for a room of other tags each',
    unit(target) {
      const text = randomBytes(32).toString('hex');
      const tags = Object.fromEntries(Object.keys(target.list.tags).map((name) => [name, text]));
      const installId = target.game.players[text.charCodeAt(0) % target.game.players.length];
      const body = JSON.stringify({ installId, game: 'flooded-matches', tags, maxPlayers: 64 });
      return requestOf('POST', '/v1/rooms/match', [json, `content-length: ${body.length}`])(target) + body;
    },
  },
  {
    name: 'matches of one caller',
    unit(target) {
      const body = JSON.stringify({ installId: target.game.players[0], game: 'flooded-matches', tags: target.list.tags });
      return requestOf('POST', '/v1/rooms/match', [json, `content-length: ${body.length}`])(target) + body;
    },
  },
  {
    name: 'upgrades to live lists that no room fits',
    unit: (target) => requestOf('GET', `/v1/lobby/live?${futileQuery(target)}`, upgradeLines)(target),
  },
  watchingList('live lists of other tags each'),
  watchingList('live lists of other tags each, unread', { isDeaf: true }),
  { name: 'GET /docs without gzip', unit: requestOf('GET', '/docs', ['accept-encoding: identity']) },
];
