import type { Ability, Case, Json } from '../case.ts';
import { failed, INSTALL, ME, ok, refused } from './parts.ts';

const options = { installId: INSTALL };

/** A call with its input, and the request that it has to be. */
const sends = (name: string, call: string, input: Json, request: string, body?: Json, needs?: Ability): Case => ({
  ...{ name, kind: 'request', options, ...(needs && { needs }) },
  steps: [
    { call, input },
    { request, ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }), answer: ok({ any: 1 }) },
    { result: call, is: { ok: true, any: 1 } },
  ],
});

/** An error with its fields is the result at once, and is not repeated. */
const refuses = (status: number, code: string, more: Record<string, Json> = {}): Case => ({
  ...{ name: `${status} ${code} is the result, with its fields, after one request`, kind: 'error', options },
  steps: [
    { call: 'highscores.submit', input: { game: 'pebble-drop', score: 4, name: 'Ada' } },
    { request: 'POST /v1/highscores/pebble-drop', headers: ME, body: { score: 4, name: 'Ada' }, answer: refused(status, code, more) },
    { result: 'highscores.submit', is: failed(status, code, more) },
    { pass: 60_000 },
  ],
});

/** An answer in two chunks and a trailer. */
const chunked = (name: string, extension: string): Case => ({
  ...{ name, kind: 'request', options },
  steps: [
    { call: 'coins.balance' },
    {
      request: 'GET /v1/balance',
      raw: [
        'HTTP/1.1 200 OK',
        'Content-Type: application/json',
        'Transfer-Encoding: chunked',
        'Connection: close',
        '',
        '7',
        '{"ok":t',
        `16${extension}`,
        'rue,"balanceCoins":41}',
        '0',
        'X-Trailer: 1',
        '',
        '',
      ].join('\r\n'),
    },
    { result: 'coins.balance', is: { ok: true, balanceCoins: 41 } },
  ],
});

export const requests: Case[] = [
  refuses(400, 'invalid_request', { field: 'score', issues: [{ path: 'score', message: 'is no number' }] }),
  refuses(401, 'identity_required'),
  refuses(401, 'session_required'),
  refuses(401, 'sign_in_required'),
  refuses(403, 'account_banned'),
  refuses(404, 'game_not_found'),
  refuses(405, 'method_not_allowed'),
  refuses(409, 'balance_limit', { balanceCoins: 1_000_000_000_000 }),
  refuses(410, 'account_deleted'),
  refuses(413, 'payload_too_large'),
  refuses(415, 'unsupported_media_type'),
  refuses(422, 'key_reused'),
  refuses(503, 'store_unconfigured'),
  refuses(409, 'a_code_of_a_later_version', { something: { new: [1, 2] } }),
  sends(
    'fields of a read are its query, in their order',
    'coins.history',
    { limit: 5, cursor: 'a b&c=d/e+f' },
    'GET /v1/coins/history?limit=5&cursor=a%20b%26c%3Dd%2Fe%2Bf',
  ),
  sends(
    'a field in the path is not in the query',
    'highscores.around',
    { game: 'pebble-drop', limit: 3 },
    'GET /v1/highscores/pebble-drop/around?limit=3',
  ),
  sends(
    'a path is encoded, so that no field leads elsewhere',
    'rooms.read',
    { code: '../coins?x=1#' },
    'GET /v1/rooms/..%2Fcoins%3Fx%3D1%23',
  ),
  sends('a call without input sends an empty object', 'entitlement.firstRun', {}, 'POST /v1/entitlement/first-run', {}),
  sends(
    'texts of any script arrive as they are',
    'highscores.submit',
    { game: 'g', score: 1, name: 'Zoë 🎲 日本 "\\' },
    'POST /v1/highscores/g',
    { score: 1, name: 'Zoë 🎲 日本 "\\' },
  ),
  sends(
    'half of a surrogate pair arrives, so that the service can refuse it',
    'highscores.submit',
    { game: 'g', score: 1, name: 'é \ud83c' },
    'POST /v1/highscores/g',
    { score: 1, name: 'é \ud83c' },
    'half surrogates',
  ),
  sends(
    'numbers arrive as they are',
    'highscores.submit',
    { game: 'g', score: 9_007_199_254_740_991, name: 'Ada' },
    'POST /v1/highscores/g',
    {
      ...{ score: 9_007_199_254_740_991, name: 'Ada' },
    },
  ),
  sends('decimals arrive as they are', 'highscores.submit', { game: 'g', score: -0.1, name: 'Ada' }, 'POST /v1/highscores/g', {
    score: -0.1,
    name: 'Ada',
  }),
  sends(
    'the list of rooms has a parameter for each tag',
    'rooms.list',
    { game: 'duel', tags: { mode: 'ranked', level: 3 }, limit: 2 },
    'GET /v1/rooms?game=duel&limit=2&tag.mode=ranked&tag.level=3',
  ),
  {
    name: 'a call with an empty field of its path is refused without a request',
    kind: 'request',
    options,
    steps: [
      { call: 'rooms.read', input: { code: '' } },
      { result: 'rooms.read', is: { ok: false, error: { code: 'invalid_request', field: 'code' } } },
      { pass: 20_000 },
    ],
  },
  {
    name: 'numbers of an answer keep every digit',
    kind: 'request',
    options,
    steps: [
      { call: 'highscores.top', input: { game: 'g' } },
      {
        request: 'GET /v1/highscores/g',
        answer: [200, '{"ok":true,"top":[{"rank":1,"score":9007199254740991},{"rank":2,"score":0.1},{"rank":3,"score":-1e-7}]}'],
      },
      {
        result: 'highscores.top',
        is: {
          ok: true,
          top: [
            { rank: 1, score: 9_007_199_254_740_991 },
            { rank: 2, score: 0.1 },
            { rank: 3, score: -1e-7 },
          ],
        },
      },
    ],
  },
  chunked('an answer in chunks is put together', ''),
  { ...chunked('the extensions of a chunk are skipped', ';part=2'), needs: 'chunk extensions' },
  {
    name: 'fields that a later version adds are in the result',
    kind: 'request',
    options,
    steps: [
      { call: 'coins.balance' },
      { request: 'GET /v1/balance', answer: ok({ balanceCoins: 1, later: { a: [null] } }) },
      { result: 'coins.balance', is: { ok: true, balanceCoins: 1, later: { a: [null] } } },
    ],
  },
];
