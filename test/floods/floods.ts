import { randomBytes } from 'node:crypto';
import { MESSAGES_PER_SECOND } from '../../src/server/live/frame-limits.ts';
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

/** A request, `{room}` stands for the target's room. @param line method and path @param lines of its head */
const requestOf =
  (line: string, lines: readonly string[] = []) =>
  (target: Target) =>
    [`${line.replace('{room}', target.room)} HTTP/1.1`, `host: ${target.host}`, ...lines, '', ''].join('\r\n');

const upgradeLines = [
  'connection: Upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  `sec-websocket-key: ${randomBytes(16).toString('base64')}`,
];

const upgrade = requestOf('GET /v1/rooms/{room}/live', upgradeLines);

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
    opening: (target, connection) => requestOf(`GET /v1/lobby/live?${listQueryOf(target, connection)}`, upgradeLines)(target),
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
    opening: (target) => requestOf(`GET /v1/rooms/${target.game.code}/live`, upgradeLines)(target),
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

/** The same request again and again, many in one write. */
const pipelined = (name: string, unit: Flood['unit'], more: Partial<Flood> = {}): Flood => ({ name: `pipelined ${name}`, unit, ...more });

/** A request whose line is the name. */
const plain = (line: string, lines?: readonly string[]): Flood => pipelined(line, requestOf(line, lines));

/** A body that never ends, in chunks of a byte. */
const chunked = (line: string, lines: readonly string[] = [json], more: Partial<Flood> = {}): Flood => ({
  name: `endless chunked body: ${[line, ...lines].join(', ')}`,
  opening: requestOf(line, [...lines, 'transfer-encoding: chunked']),
  unit: () => '1\r\na\r\n',
  ...more,
});

/** A body that never ends although it has a length. */
const lengthy = (line: string, lines: readonly string[] = [json]): Flood => ({
  name: `endless body of a known length: ${[line, ...lines].join(', ')}`,
  opening: requestOf(line, [...lines, 'content-length: 1000000000000']),
  unit: () => 'a'.repeat(1024),
});

/** Frames on the channel of a room. */
const onChannel = (name: string, unit: Flood['unit'], once?: () => Buffer): Flood => ({
  ...{ name: `endless WebSocket ${name}`, unit, opening: upgrade, awaits: 'HTTP/1.1 101' },
  ...(once === undefined ? {} : { afterAnswer: once }),
});

const fragment = (): Buffer => frame(opcodes.continuation, '', { isLast: false });

const compressed = (): Buffer => {
  const bytes = frame(opcodes.text, '{}');
  bytes[0]! |= 0x40;
  return bytes;
};

/** A match of a caller, for a room with these tags. */
const match = (installId: string | undefined, tags: object, target: Target): string => {
  const body = JSON.stringify({ installId, game: 'flooded-matches', tags, maxPlayers: 64 });
  return requestOf('POST /v1/rooms/match', [json, `content-length: ${body.length}`])(target) + body;
};

/** A save of 64 KiB that differs from the one before. The lists are the worst JSON of that length. */
const save = ({ game: { players }, host }: Target, connection: number, count: number): string => {
  const data = `[${count}${',[]'.repeat(21_000)}]`;
  const body = `{"installId":"${players[connection % players.length]}","data":${data}}`;
  return requestOf('POST /v1/saves/flood/slot-1', [json, `content-length: ${body.length}`])({ host } as Target) + body;
};

const wholeList = (target: Target): string =>
  requestOf(`GET /v1/rooms?limit=100&cursor=9999999999999ZZZZZ&${listQuery(target, [])}`)(target);

const GOOGLE = 'GET /sandbox/androidpublisher/androidpublisher/v3/applications/a.b/purchases/subscriptionsv2/tokens/x';
const LONG_POLL = 'GET /v1/rooms/{room}?wait=25&since=99';
const onMetricsPort = { onMetricsPort: true };

export const floods: readonly Flood[] = [
  plain('GET /health'),
  pipelined('GET /health, answers unread', requestOf('GET /health'), { isDeaf: true }),
  ...['HEAD /health', 'OPTIONS /v1/balance', 'GET /nothing', 'GET /ready', 'GET /sandbox/jwks.json'].map((line) => plain(line)),
  plain('POST /health', ['content-length: 0']),
  plain('GET /docs', ['accept-encoding: identity']),
  plain(GOOGLE, ['authorization: Bearer x']),
  pipelined('GET /health of HTTP/1.0', () => 'GET /health HTTP/1.0\r\n\r\n'),
  pipelined('GET /health with a repeated header', requestOf('GET /health', ['origin: http://a.example', 'origin: http://b.example'])),
  pipelined('GET of an account export page', (target) => requestOf('GET /v1/account/export', [`x-install-id: ${target.fullest}`])(target)),
  ...['POST /v1/login', 'POST /nothing'].map((line) => chunked(line)),
  ...['GET /v1/balance', LONG_POLL].map((line) => chunked(line, [])),
  chunked('POST /v1/login', [json, 'host: localhost']),
  chunked('POST /v1/login', [json], { name: 'bodies of 16 KiB in chunks of a byte', stopsAfterBytes: 6 * 16_384 }),
  ...['POST /nothing', 'POST /v1/login'].map((line) => lengthy(line)),
  ...['GET /health', LONG_POLL].map((line) => lengthy(line, [])),
  lengthy('POST /v1/login', ['content-type: text/plain']),
  { name: 'endless headers', opening: () => 'GET /health HTTP/1.1\r\n', unit: () => 'a: b\r\n' },
  { name: 'endless empty lines', unit: () => '\r\n' },
  onChannel('fragments without bytes', fragment),
  onChannel('fragments without bytes of a text message', fragment, () => frame(opcodes.text, '', { isLast: false })),
  onChannel('pings', () => frame(opcodes.ping, '')),
  onChannel('pongs', () => frame(opcodes.pong, '')),
  onChannel('messages', () => frame(opcodes.text, '{}')),
  onChannel(
    'messages after its close',
    () => frame(opcodes.text, '{}'),
    () => frame(opcodes.close, Buffer.from([3, 232])),
  ),
  onChannel('frames of a reserved opcode', () => frame(0xb, '')),
  onChannel('compressed frames, which were not agreed on', compressed),
  onChannel('bytes that are HTTP requests', requestOf('GET /health')),
  { name: 'HTTP requests behind an upgrade', opening: upgrade, unit: requestOf('GET /health') },
  pipelined('upgrades', upgrade),
  pipelined('GET /metrics on METRICS_PORT', requestOf('GET /metrics'), onMetricsPort),
  pipelined('GET /metrics with an Expect on METRICS_PORT', requestOf('GET /metrics', ['expect: x']), onMetricsPort),
  chunked('POST /metrics', [], onMetricsPort),
  pipelined('QR images for a foreign host each', ({ pairingToken }) => {
    const host = `h${randomBytes(4).toString('hex')}.example`;
    return `GET /v1/pair/qr.svg?token=${pairingToken} HTTP/1.1\r\nhost: ${host}\r\n\r\n`;
  }),
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
  pipelined('lists of rooms that no room fits', (target) => requestOf(`GET /v1/rooms?limit=100&${futileQuery(target)}`)(target)),
  pipelined('lists of rooms of 32 KiB', wholeList),
  pipelined('lists of rooms of 32 KiB, answers unread', wholeList, { isDeaf: true }),
  pipelined('matches for a room of other tags each', (target) => {
    const text = randomBytes(32).toString('hex');
    const tags = Object.fromEntries(Object.keys(target.list.tags).map((name) => [name, text]));
    return match(target.game.players[text.charCodeAt(0) % target.game.players.length], tags, target);
  }),
  pipelined('matches of one caller', (target) => match(target.game.players[0], target.list.tags, target)),
  pipelined('upgrades to live lists that no room fits', (target) =>
    requestOf(`GET /v1/lobby/live?${futileQuery(target)}`, upgradeLines)(target),
  ),
  pipelined('saves of 64 KiB', save),
  watchingList('live lists of other tags each'),
  watchingList('live lists of other tags each, unread', { isDeaf: true }),
  {
    name: 'sockets that watch another account with each hello',
    opening: requestOf('GET /v1/account/live', upgradeLines),
    awaits: 'HTTP/1.1 101',
    unit: (_, connection, count) => frame(opcodes.text, JSON.stringify({ type: 'hello', installId: `install-${connection}-${count}` })),
    perSecond: MESSAGES_PER_SECOND - 1,
    connections: [ALL_SOCKETS],
  },
];
