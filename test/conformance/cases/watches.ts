import type { Case, Json, Options, Step } from '../case.ts';
import { again, bySession, connectAgain, INSTALL, ME, ok, refused } from './parts.ts';

const options = { installId: INSTALL };
const LIVE = '/v1/rooms/BCDFG/live?patch=1';
const WHOLE = '/v1/rooms/BCDFG/live';
const READ = 'GET /v1/rooms/BCDFG';

export const player = (id: string, more: Record<string, Json> = {}) => ({
  ...{ id, name: id, ready: false, connected: true, host: id === 'p1', joinedAt: '2026-01-01T00:00:00.000Z', data: null },
  ...more,
});
export const room = (seq: number, more: Record<string, Json> = {}) => ({
  ...{
    code: 'BCDFG',
    phase: 'playing',
    seq,
    hostId: 'p1',
    minPlayers: 1,
    maxPlayers: 8,
    locked: false,
    writers: 'players',
    state: { turn: 1 },
  },
  ...{ players: [player('p1'), player('p2')], createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' },
  ...more,
});
const shows = (seq: number, more: Record<string, Json> = {}): Step => ({
  send: { type: 'room', seq, room: room(seq, more) },
  of: 'socket',
});
const news = (seq: number, more: Record<string, Json> = {}): Step => ({ event: 'news', of: 'w', is: room(seq, more) });
const hello: Step = { frame: { type: 'hello', installId: INSTALL }, of: 'socket' };
const watches: Step[] = [{ watch: 'room', of: { code: 'BCDFG' }, as: 'w' }, { socket: LIVE }, hello];
const live: Step[] = [...watches, shows(4), news(4)];
const state = (is: Json, after?: [number, number]): Step => ({ event: 'state', of: 'w', is, after });
const of = (name: string, steps: Step[], more: Options = {}): Case => ({ name, kind: 'watch', options: { ...options, ...more }, steps });
const patch = (from: number, seq: number, ...ops: Json[]): Step => ({ send: { type: 'patch', seq, from, ops }, of: 'socket' });
/** A new connection after a short outage. */
const connectsAgain = (path = LIVE): Step[] => [{ socket: path, after: connectAgain(0) }, hello];

/** After this close code the client connects again. */
const reconnects = (code: number): Case =>
  of(`after a close with ${code} the client connects again within a second, and greets again`, [
    ...live,
    { close: code, of: 'socket' },
    ...connectsAgain(),
    shows(5),
    news(5),
  ]);
const ends = (code: number, why: string): Case =>
  of(`a close with ${code} ends a watch: ${why}`, [
    ...live,
    { close: code, of: 'socket' },
    state({ status: 'ended', code: why }),
    { pass: 120_000 },
  ]);

/** A patch that gives exactly this room. */
const patches = (name: string, ops: Json[], more: Record<string, Json>, before: Record<string, Json> = {}): Case =>
  of(`a patch ${name}`, [
    ...watches,
    shows(4, before),
    news(4, before),
    patch(4, 5, { op: 'replace', path: '/seq', value: 5 }, ...ops),
    news(5, more),
  ]);

export const watched: Case[] = [
  of('a watch opens one socket, greets with the install, and gives each room', [
    ...watches,
    state({ status: 'connecting' }),
    shows(4),
    news(4),
    state({ status: 'live', by: 'socket' }),
    shows(5, { state: { turn: 2 } }),
    news(5, { state: { turn: 2 } }),
  ]),
  of('a watch of a signed-in player greets with the session', [
    { call: 'sessions.login' },
    { request: 'POST /v1/login', answer: ok({ accountId: 'a', sessionToken: 's-1' }) },
    { result: 'sessions.login', is: '$any' },
    { watch: 'room', of: { code: 'BCDFG' }, as: 'w' },
    { socket: LIVE },
    { frame: { type: 'hello', sessionToken: 's-1' }, of: 'socket' },
  ]),
  of('a watch that only watches sends no hello', [
    { watch: 'room', of: { code: 'BCDFG', hello: false }, as: 'w' },
    { socket: LIVE },
    shows(4),
    news(4),
    { pass: 5000 },
  ]),
  of('a join greets again on the open socket', [
    ...live,
    { call: 'rooms.join', input: { code: 'BCDFG', name: 'Ada' } },
    {
      request: 'POST /v1/rooms/BCDFG/join',
      headers: ME,
      body: { name: 'Ada' },
      answer: ok({ room: room(5), you: { playerId: 'p2', host: false } }),
    },
    { result: 'rooms.join', is: '$any' },
    hello,
  ]),
  of('the seat of the caller is told', [
    ...live,
    { send: { type: 'welcome', you: { playerId: 'p1', host: true }, now: 1 }, of: 'socket' },
    { event: 'you', of: 'w', is: { playerId: 'p1', host: true } },
  ]),
  of('an error of the channel is told, and the watch goes on', [
    ...live,
    { send: { type: 'error', error: { code: 'not_in_room', message: 'no' } }, of: 'socket' },
    { event: 'error', of: 'w', is: { '...': true, code: 'not_in_room' } },
    shows(5),
    news(5),
  ]),
  of('a hello that the service could not process is sent again', [
    ...live,
    { send: { type: 'error', error: { code: 'store_unavailable', message: 'later', retryAfterMs: 500 } }, of: 'socket' },
    { event: 'error', of: 'w', is: '$any' },
    { ...hello, after: again(2, 500) } as Step,
  ]),
  of('an older room than the last one is not shown', [...live, shows(3, { state: 'old' }), shows(5), news(5), { pass: 1000 }]),
  of('a room that comes twice is shown once', [...live, shows(4), shows(4), shows(5), news(5)]),
  of('a new connection that begins with the same room shows nothing twice', [
    ...live,
    { close: 1001, of: 'socket' },
    ...connectsAgain(),
    shows(4),
    { pass: 1000 },
  ]),
  patches('replaces a member', [{ op: 'replace', path: '/state/turn', value: 9 }], { state: { turn: 9 } }),
  patches(
    'adds and removes members',
    [
      { op: 'add', path: '/state/last', value: null },
      { op: 'remove', path: '/state/turn' },
    ],
    { state: { last: null } },
  ),
  patches('replaces the data of a player', [{ op: 'replace', path: '/players/1/data', value: { x: [1, { y: 2 }] } }], {
    players: [player('p1'), player('p2', { data: { x: [1, { y: 2 }] } })],
  }),
  patches(
    'adds to, removes from and replaces in a list',
    [
      { op: 'add', path: '/state/list/1', value: 'new' },
      { op: 'remove', path: '/state/list/0' },
      { op: 'replace', path: '/state/list/1', value: { deep: true } },
      { op: 'add', path: '/state/list/3', value: 'end' },
    ],
    { state: { list: ['new', { deep: true }, 'c', 'end'] } },
    { state: { list: ['a', 'b', 'c'] } },
  ),
  patches(
    'has names with slashes, tildes and odd texts',
    [
      { op: 'replace', path: '/state/a~1b~0c', value: 1 },
      { op: 'add', path: '/state/__proto__', value: { own: 1 } },
      { op: 'add', path: '/state/', value: 'empty name' },
      { op: 'add', path: '/state/-', value: 'dash' },
      { op: 'add', path: '/state/0', value: 'zero' },
    ],
    { state: { 'a/b~c': 1, ['__proto__']: { own: 1 }, '': 'empty name', '-': 'dash', 0: 'zero' } },
    { state: { 'a/b~c': 0 } },
  ),
  patches('replaces the whole state by another type', [{ op: 'replace', path: '/state', value: [1, 2] }], { state: [1, 2] }),
  of('patches follow each other, and a whole room in between', [
    ...live,
    patch(4, 5, { op: 'replace', path: '/seq', value: 5 }, { op: 'replace', path: '/state/turn', value: 2 }),
    news(5, { state: { turn: 2 } }),
    shows(7, { state: { turn: 4 } }),
    news(7, { state: { turn: 4 } }),
    patch(7, 8, { op: 'replace', path: '/seq', value: 8 }, { op: 'replace', path: '/state/turn', value: 5 }),
    news(8, { state: { turn: 5 } }),
  ]),
  of('a patch of another room than the last one: the client asks for whole rooms', [
    ...live,
    patch(6, 7, { op: 'replace', path: '/seq', value: 7 }),
    ...connectsAgain(WHOLE),
    shows(7),
    news(7),
    { close: 1001, of: 'socket' },
    { socket: LIVE, after: [0, 1000] },
    hello,
  ]),
  of('a patch that does not fit the room: the client asks for whole rooms, and shows none that is half changed', [
    ...live,
    patch(4, 5, { op: 'replace', path: '/state/turn', value: 2 }, { op: 'replace', path: '/state/none', value: 2 }),
    ...connectsAgain(WHOLE),
    shows(5),
    news(5),
  ]),
  of('a frame that is no JSON ends the connection, and the next one begins anew', [
    ...live,
    { sendText: '{"type":"room","seq":5,"room":{', of: 'socket' },
    { socket: LIVE, after: [0, 1000] },
    hello,
    shows(6),
    news(6),
  ]),
  of('bytes that are no frame end the connection, and the next one begins anew', [
    ...live,
    { sendBytes: 'ff'.repeat(16), of: 'socket' },
    { socket: LIVE, after: [0, 1000] },
    hello,
    shows(6),
    news(6),
  ]),
  of('a message of a type that the client does not know changes nothing', [
    ...live,
    { send: { type: 'later', seq: 9, more: [1] }, of: 'socket' },
    shows(5),
    news(5),
  ]),
  ...[1001, 1009, 1011, 4008, 4009, 4400, 4429, 4499].map(reconnects),
  ends(4500, 'gone'),
  ends(4501, 'finished'),
  ends(4999, 'finished'),
  of('a cut connection is opened again', [...live, { cutSocket: 'socket' }, ...connectsAgain(), shows(5), news(5)]),
  of('a room that ends is the last news', [
    ...live,
    shows(5, { phase: 'ended' }),
    news(5, { phase: 'ended' }),
    state({ status: 'ended', code: 'finished' }),
    { closed: 'socket' },
    { pass: 120_000 },
  ]),
  of('a service that lost changes may show an older room on a new connection, once a read has confirmed it', [
    ...live,
    { close: 4009, of: 'socket' },
    ...connectsAgain(),
    shows(2),
    { request: READ, after: [0, 2000], answer: ok({ room: room(2) }) },
    news(2),
    shows(3),
    news(3),
  ]),
  of('a refused upgrade of a room that does not exist ends the watch with the code of the refusal', [
    { watch: 'room', of: { code: 'BCDFG' }, as: 'w' },
    { socket: LIVE, refuse: refused(404, 'room_not_found') },
    { request: READ, answer: refused(404, 'room_not_found') },
    state({ status: 'ended', code: 'room_not_found' }),
    { pass: 120_000 },
  ]),
  of('a refused upgrade of a busy service is tried again after the time for which it asks', [
    { watch: 'room', of: { code: 'BCDFG' }, as: 'w' },
    { socket: LIVE, refuse: refused(503, 'overloaded', { retryAfterMs: 3000 }) },
    { request: READ, answer: refused(503, 'overloaded', { retryAfterMs: 3000 }) },
    { socket: LIVE, after: [3000, 4000] },
    hello,
    shows(4),
    news(4),
  ]),
  of('a socket that does not open within 4 s is given up', [
    { watch: 'room', of: { code: 'BCDFG' }, as: 'w' },
    { socket: LIVE, hold: true },
    { request: READ, after: [4000, 4000], answer: ok({ room: room(4) }) },
    news(4),
    { socket: LIVE },
    hello,
    shows(5),
    news(5),
  ]),
  of('where WebSockets are blocked, the client polls, and waits for news', [
    { watch: 'room', of: { code: 'BCDFG' }, as: 'w' },
    { socket: LIVE, refuse: [403, 'blocked'] },
    { request: READ, answer: ok({ room: room(4) }) },
    news(4),
    { socket: LIVE, refuse: [403, 'blocked'] },
    { request: READ, answer: ok({ room: room(4) }) },
    state({ status: 'live', by: 'poll' }),
    { request: `${READ}?since=4&wait=20`, as: 'poll' },
    { pass: 19_000 },
    { answer: 'poll', with: ok({ room: room(5) }) },
    news(5),
    { request: `${READ}?since=5&wait=20`, answer: ok({ room: room(6, { phase: 'ended' }) }) },
    news(6, { phase: 'ended' }),
    state({ status: 'ended', code: 'finished' }),
    { pass: 60_000 },
  ]),
  of(
    'a platform without WebSockets polls from the beginning',
    [
      { watch: 'room', of: { code: 'BCDFG' }, as: 'w' },
      { request: READ, answer: ok({ room: room(4) }) },
      news(4),
      { request: `${READ}?since=4&wait=20`, answer: refused(404, 'room_not_found') },
      state({ status: 'ended', code: 'room_not_found' }),
    ],
    { sockets: false },
  ),
  of('a welcomed connection that is idle is pinged after 10 s, and given up 4 s after a ping without a pong', [
    ...live,
    { send: { type: 'welcome', you: { playerId: 'p1', host: true }, now: 1 }, of: 'socket' },
    { event: 'you', of: 'w', is: '$any' },
    { frame: { type: 'ping', t: '$number' }, of: 'socket', after: [10_000, 10_000] },
    { send: { type: 'pong', t: 1, now: 2 }, of: 'socket' },
    { frame: { type: 'ping', t: '$number' }, of: 'socket', after: [10_000, 10_000] },
    { closed: 'socket', after: [4000, 4000] },
    { socket: LIVE, after: [0, 1000] },
    hello,
  ]),
  of('a connection without a welcome is checked by a read every 30 to 45 s, and given up where that brings news', [
    ...live,
    { request: READ, after: [30_000, 45_000], answer: ok({ room: room(4) }) },
    { request: READ, after: [30_000, 45_000], answer: ok({ room: room(6) }) },
    news(6),
    { closed: 'socket', after: [2000, 2000] },
    { socket: LIVE, after: [0, 1000] },
    hello,
  ]),
  of('a device that wakes up checks its connection at once', [
    ...live,
    { tell: 'wake' },
    { request: READ, answer: ok({ room: room(4) }) },
    { pass: 5000 },
  ]),
  of('a device that wakes up connects at once', [...live, { close: 1001, of: 'socket' }, { tell: 'wake' }, { socket: LIVE }, hello]),
  of('a watch of an outage goes on trying, never more than 5 s apart', [
    ...live,
    { cutSocket: 'socket' },
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].flatMap((): Step[] => [
      { socket: LIVE, after: [0, 5000], refuse: [502, 'bad gateway'] },
      { request: READ, answer: [502, 'bad gateway'] },
    ]),
    { socket: LIVE, after: [0, 5000] },
    hello,
    shows(9),
    news(9),
  ]),
  of('a watch that the game closes ends at once', [
    ...live,
    { leave: 'w' },
    state({ status: 'ended', code: 'closed' }),
    { closed: 'socket' },
    { pass: 60_000 },
  ]),
  of('a closed client ends its watches', [...live, { tell: 'close' }, state({ status: 'ended', code: 'closed' }), { closed: 'socket' }]),
  {
    name: 'a pairing goes through its statuses, and gives the session',
    kind: 'pairing',
    options,
    steps: [
      { call: 'pairing.open' },
      {
        request: 'POST /v1/pair/new',
        body: { session: 'token' },
        headers: { 'x-install-id': null },
        answer: ok({ token: 'pair-token', secret: 'hush', matchCode: '42' }),
      },
      { result: 'pairing.open', is: { ok: true, token: 'pair-token', secret: 'hush', matchCode: '42' } },
      { watch: 'pairing', of: { token: 'pair-token', secret: 'hush' }, as: 'w' },
      { socket: '/v1/pair/live?token=pair-token' },
      { send: { type: 'pair', status: 'pending' }, of: 'socket' },
      { event: 'news', of: 'w', is: { status: 'pending' } },
      { send: { type: 'pair', status: 'scanned' }, of: 'socket' },
      { event: 'news', of: 'w', is: { status: 'scanned' } },
      { send: { type: 'pair', status: 'claimed' }, of: 'socket' },
      {
        request: 'GET /v1/pair/status?token=pair-token',
        headers: { 'x-pair-secret': 'hush', 'x-install-id': null },
        answer: ok({ status: 'claimed', claimedBy: { name: 'Ada' }, accountId: 'a-1', sessionToken: 's-1' }),
      },
      { event: 'news', of: 'w', is: { status: 'claimed', claimedBy: { name: 'Ada' } } },
      state({ status: 'ended', code: 'finished' }),
      { who: { installId: INSTALL, sessionToken: 's-1', accountId: 'a-1' } },
      { call: 'coins.balance' },
      { request: 'GET /v1/balance', headers: bySession('s-1'), answer: ok({ balanceCoins: 1 }) },
      { result: 'coins.balance', is: '$any' },
    ],
  },
  {
    name: 'a claimed pairing whose read fails for a while still gives the session',
    kind: 'pairing',
    options,
    steps: [
      { watch: 'pairing', of: { token: 'pair-token', secret: 'hush' }, as: 'w' },
      { socket: '/v1/pair/live?token=pair-token' },
      { send: { type: 'pair', status: 'claimed' }, of: 'socket' },
      { request: 'GET /v1/pair/status?token=pair-token', cut: 'before' },
      {
        request: 'GET /v1/pair/status?token=pair-token',
        after: again(0),
        answer: refused(503, 'store_unavailable', { retryAfterMs: 1000 }),
      },
      {
        request: 'GET /v1/pair/status?token=pair-token',
        after: again(1, 1000),
        answer: ok({ status: 'claimed', accountId: 'a-1', sessionToken: 's-1' }),
      },
      { event: 'news', of: 'w', is: { status: 'claimed' } },
      { who: { installId: INSTALL, sessionToken: 's-1', accountId: 'a-1' } },
    ],
  },
  ...['denied', 'expired'].map((status): Case => ({
    name: `a pairing that is ${status} ends its watch, and signs nobody in`,
    kind: 'pairing',
    options,
    steps: [
      { watch: 'pairing', of: { token: 'pair-token', secret: 'hush' }, as: 'w' },
      { socket: '/v1/pair/live?token=pair-token' },
      { send: { type: 'pair', status: 'pending' }, of: 'socket' },
      { event: 'news', of: 'w', is: { status: 'pending' } },
      { send: { type: 'pair', status }, of: 'socket' },
      { event: 'news', of: 'w', is: { status } },
      state({ status: 'ended', code: 'finished' }),
      { who: { installId: INSTALL } },
    ],
  })),
  {
    name: 'a pairing that nobody knows ends its watch',
    kind: 'pairing',
    options,
    steps: [
      { watch: 'pairing', of: { token: 'pair-token' }, as: 'w' },
      { socket: '/v1/pair/live?token=pair-token', refuse: refused(404, 'pair_not_found') },
      { request: 'GET /v1/pair/status?token=pair-token', answer: refused(404, 'pair_not_found') },
      state({ status: 'ended', code: 'pair_not_found' }),
    ],
  },
  {
    name: 'a pairing is watched by polls where there are no WebSockets',
    kind: 'pairing',
    options: { ...options, sockets: false },
    steps: [
      { watch: 'pairing', of: { token: 'pair-token', secret: 'hush' }, as: 'w' },
      { request: 'GET /v1/pair/status?token=pair-token', answer: ok({ status: 'pending' }) },
      { event: 'news', of: 'w', is: { status: 'pending' } },
      {
        request: 'GET /v1/pair/status?token=pair-token&wait=20&since=pending',
        answer: ok({ status: 'claimed', accountId: 'a-1', sessionToken: 's-1' }),
      },
      { event: 'news', of: 'w', is: { status: 'claimed' } },
      { who: { installId: INSTALL, sessionToken: 's-1', accountId: 'a-1' } },
    ],
  },
  {
    name: 'a claim names the caller',
    kind: 'pairing',
    options,
    steps: [
      { call: 'pairing.claim', input: { token: 'pair-token', step: 'scan' } },
      {
        request: 'POST /v1/pair/claim',
        headers: ME,
        body: { token: 'pair-token', step: 'scan' },
        answer: ok({ status: 'scanned', matchCode: '42' }),
      },
      { result: 'pairing.claim', is: { ok: true, status: 'scanned', matchCode: '42' } },
    ],
  },
];
