import type { Case, Json, Options, Step } from '../case.ts';
import { bySession, INSTALL, ME, ok, refused } from './parts.ts';

const options = { installId: INSTALL };
const BALANCE = 'GET /v1/balance';
const ENTITLEMENT = 'GET /v1/entitlement';
const LIVE = '/v1/account/live';
const none = { state: 'none', access: false };
const hello: Step = { frame: { type: 'hello', installId: INSTALL }, of: 'socket' };
const account = (balanceCoins: number, more: Record<string, Json> = {}): Step => ({
  send: { type: 'account', accountId: 'a-1', balanceCoins, entitlement: none, version: balanceCoins, ...more },
  of: 'socket',
});
const news = (balanceCoins: number, more: Record<string, Json> = {}): Step => ({
  event: 'news',
  of: 'w',
  is: { accountId: 'a-1', balanceCoins, entitlement: none, ...more },
});
const state = (is: Json): Step => ({ event: 'state', of: 'w', is });
const watches: Step[] = [{ watch: 'account', as: 'w' }, { socket: LIVE }, hello, account(5), news(5)];
const of = (name: string, kind: string, steps: Step[], more: Options = {}): Case => ({
  name,
  kind,
  options: { ...options, ...more },
  steps,
});

const BOARD = '/v1/highscores/drop/live';
const top = (score: number): Json => [{ rank: 1, playerId: 'x', name: 'Ada', score, at: '2026-01-01T00:00:00.000Z' }];
const listed = (code: string): Json => ({
  code,
  game: 'duel',
  players: 1,
  maxPlayers: 2,
  tags: { mode: 'ranked' },
  createdAt: '2026-01-01T00:00:00.000Z',
});

export const channels: Case[] = [
  of('the account is shown at once and after each change', 'account', [
    ...watches,
    account(9),
    news(9),
    account(0, { debtCoins: 3 }),
    news(0, { debtCoins: 3 }),
  ]),
  of('an account that did not change is shown once, also by a new connection', 'account', [
    ...watches,
    account(5, { version: 6 }),
    { close: 1001, of: 'socket' },
    { socket: LIVE, after: [0, 1000] },
    hello,
    account(5, { version: 1 }),
    account(6, { version: 2 }),
    news(6),
  ]),
  of('an entitlement that changes is shown', 'account', [
    ...watches,
    account(5, { entitlement: { state: 'subscribed', access: true, expiresAt: '2026-02-01T00:00:00.000Z' } }),
    news(5, { entitlement: { state: 'subscribed', access: true, expiresAt: '2026-02-01T00:00:00.000Z' } }),
  ]),
  of('the watch follows the player through a sign-in', 'account', [
    ...watches,
    { call: 'sessions.login' },
    { request: 'POST /v1/login', answer: ok({ accountId: 'a-1', sessionToken: 's-1' }) },
    { frame: { type: 'hello', sessionToken: 's-1' }, of: 'socket' },
    { result: 'sessions.login', is: '$any' },
    account(7),
    news(7),
  ]),
  ...(
    [
      ['session_required', 401],
      ['account_banned', 403],
      ['account_deleted', 410],
    ] as const
  ).map(([code]) =>
    of(`the end of the caller by ${code} ends the watch with that code`, 'account', [
      ...watches,
      { send: { type: 'error', error: { code, message: code } }, of: 'socket' },
      { close: 4503, of: 'socket' },
      { event: 'state', of: 'w', is: { status: 'ended', code }, after: [0, 3500] },
      { pass: 60_000 },
    ]),
  ),
  of('where WebSockets are blocked, balance and entitlement are read every four seconds', 'account', [
    { watch: 'account', as: 'w' },
    ...[0, 1].flatMap((): Step[] => [
      { socket: LIVE, refuse: [403, 'blocked'] },
      { request: BALANCE, headers: ME, answer: ok({ balanceCoins: 5 }) },
      { request: ENTITLEMENT, headers: ME, answer: ok(none) },
    ]),
    { event: 'news', of: 'w', is: { balanceCoins: 5, entitlement: none } },
    { request: BALANCE, after: [4000, 4000], answer: ok({ balanceCoins: 5 }) },
    { request: ENTITLEMENT, answer: ok(none) },
    { request: BALANCE, after: [4000, 4000], answer: ok({ balanceCoins: 6 }) },
    { request: ENTITLEMENT, answer: ok(none) },
    { event: 'news', of: 'w', is: { balanceCoins: 6, entitlement: none } },
  ]),
  of(
    'without WebSockets a caller that may no more ends the watch',
    'account',
    [
      { watch: 'account', as: 'w' },
      { request: BALANCE, answer: refused(401, 'session_required') },
      state({ status: 'ended', code: 'session_required' }),
      { pass: 60_000 },
    ],
    { sockets: false },
  ),
  of('a board is shown at once and after each change, and a repeated one not', 'board', [
    { watch: 'board', of: { game: 'drop' }, as: 'w' },
    { socket: BOARD },
    { send: { type: 'board', version: 1, top: [] }, of: 'socket' },
    { event: 'news', of: 'w', is: [[], null] },
    { send: { type: 'board', version: 2, top: top(4) }, of: 'socket' },
    { event: 'news', of: 'w', is: [top(4), null] },
    { send: { type: 'board', version: 3, top: top(4) }, of: 'socket' },
    { close: 4009, of: 'socket' },
    { socket: BOARD, after: [0, 1000] },
    { send: { type: 'board', version: 1, top: top(4) }, of: 'socket' },
    { send: { type: 'board', version: 2, top: top(5) }, of: 'socket' },
    { event: 'news', of: 'w', is: [top(5), null] },
  ]),
  of(
    'a board without WebSockets is read every four seconds',
    'board',
    [
      { watch: 'board', of: { game: 'drop' }, as: 'w' },
      { request: 'GET /v1/highscores/drop', answer: ok({ top: top(4) }) },
      { event: 'news', of: 'w', is: [top(4), null] },
      { request: 'GET /v1/highscores/drop', after: [4000, 4000], answer: ok({ top: top(4) }) },
      { request: 'GET /v1/highscores/drop', after: [4000, 4000], answer: ok({ top: top(6) }) },
      { event: 'news', of: 'w', is: [top(6), null] },
    ],
    { sockets: false },
  ),
  of('the season of a board comes with its scores, and a new season is news', 'board', [
    { watch: 'board', of: { game: 'drop' }, as: 'w' },
    { socket: BOARD },
    ...['2026-W48', '2026-W49'].flatMap((id, version): Step[] => [
      { send: { type: 'board', version, top: [], season: { id, endsAt: '2026-12-07T00:00:00.000Z' } }, of: 'socket' },
      { event: 'news', of: 'w', is: [[], { id, endsAt: '2026-12-07T00:00:00.000Z' }] },
    ]),
  ]),
  of('pages of a board follow each other by their cursor', 'board', [
    { call: 'highscores.entries', input: { game: 'drop', limit: 2 } },
    { request: 'GET /v1/highscores/drop/entries?limit=2', answer: ok({ entries: top(9), nextCursor: 'c+1' }) },
    { result: 'highscores.entries', is: { ok: true, entries: top(9), nextCursor: 'c+1' } },
    { call: 'highscores.entries', input: { game: 'drop', limit: 2, cursor: 'c+1' } },
    { request: 'GET /v1/highscores/drop/entries?limit=2&cursor=c%2B1', answer: ok({ entries: [] }) },
    { result: 'highscores.entries', is: { ok: true, entries: [] } },
  ]),
  of('a score is sent as the caller', 'board', [
    { call: 'sessions.login' },
    { request: 'POST /v1/login', answer: ok({ accountId: 'a-1', sessionToken: 's-1' }) },
    { result: 'sessions.login', is: '$any' },
    { call: 'highscores.submit', input: { game: 'drop', score: 4.5, name: 'Ada' } },
    {
      request: 'POST /v1/highscores/drop',
      headers: bySession('s-1'),
      body: { score: 4.5, name: 'Ada' },
      answer: ok({ rank: 1, best: 4.5, personalBest: true, top: top(4.5) }),
    },
    { result: 'highscores.submit', is: { ok: true, rank: 1, best: 4.5, personalBest: true, top: top(4.5) } },
  ]),
  of('the open rooms are shown at once and after each change', 'lobby', [
    { watch: 'lobby', of: { game: 'duel', tags: { mode: 'ranked' } }, as: 'w' },
    { socket: '/v1/lobby/live?game=duel&tag.mode=ranked' },
    { send: { type: 'rooms', rooms: [] }, of: 'socket' },
    { event: 'news', of: 'w', is: [] },
    { send: { type: 'rooms', rooms: [listed('BCDFG')] }, of: 'socket' },
    { event: 'news', of: 'w', is: [listed('BCDFG')] },
  ]),
  of(
    'the open rooms without WebSockets are read every four seconds',
    'lobby',
    [
      { watch: 'lobby', of: { game: 'duel', tags: { mode: 'ranked' } }, as: 'w' },
      { request: 'GET /v1/rooms?game=duel&tag.mode=ranked&limit=50', answer: ok({ rooms: [] }) },
      { event: 'news', of: 'w', is: [] },
      { request: 'GET /v1/rooms?game=duel&tag.mode=ranked&limit=50', after: [4000, 4000], answer: ok({ rooms: [listed('BCDFG')] }) },
      { event: 'news', of: 'w', is: [listed('BCDFG')] },
    ],
    { sockets: false },
  ),
];
