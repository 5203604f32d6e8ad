import { describe, expect, test } from 'vitest';
import { forFile, freshId, signIn, start } from '../../harness.ts';

const service = await forFile(start());

const freshGame = (): string => freshId('game').toLowerCase();

interface Shown {
  rank: number;
  playerId: string;
  name: string;
  score: number;
}
const lines = (entries: Shown[]): string[] => entries.map(({ rank, name, score }) => `${rank} ${name} ${score}`);

/** A board whose players have numbers. */
class Board {
  readonly game = freshGame();
  readonly #prefix = freshId();

  installId(player: number): string {
    return `${this.#prefix}-player-${player}`;
  }

  async submit(player: number, score: number, name = `p${player}`): Promise<void> {
    const reply = await service.post(`/v1/highscores/${this.game}`, { installId: this.installId(player), score, name });
    expect(reply.status).toBe(200);
  }

  async read(path = '') {
    return (await service.get(`/v1/highscores/${this.game}${path}`)).body;
  }

  async pages(limit: number): Promise<Shown[]> {
    const found: Shown[] = [];
    for (let cursor = ''; ;) {
      const body = await this.read(`/entries?limit=${limit}${cursor}`);
      found.push(...(body.entries as Shown[]));
      if (body.nextCursor === undefined) return found;
      cursor = `&cursor=${body.nextCursor}`;
    }
  }
}

/** A board of 23 players. The players 2n and 2n + 1 have the score n, and the smaller number came first. */
async function filled(): Promise<Board> {
  const board = new Board();
  for (let player = 1; player <= 23; player++) await board.submit(player, Math.floor(player / 2));
  return board;
}
const FILLED = [
  ...['1 p22 11', '1 p23 11', '3 p20 10', '3 p21 10', '5 p18 9', '5 p19 9', '7 p16 8', '7 p17 8', '9 p14 7', '9 p15 7', '11 p12 6'],
  ...[
    '11 p13 6',
    '13 p10 5',
    '13 p11 5',
    '15 p8 4',
    '15 p9 4',
    '17 p6 3',
    '17 p7 3',
    '19 p4 2',
    '19 p5 2',
    '21 p2 1',
    '21 p3 1',
    '23 p1 0',
  ],
];

// random-board.test.ts compares pages, with changes in between, and neighbours with a model.
describe('GET /v1/highscores/{game}/entries', () => {
  test('pages lead through the whole board, and the last one has no cursor', async () => {
    const board = await filled();
    for (const limit of [1, 7, 22, 23, 24]) expect(lines(await board.pages(limit))).toEqual(FILLED);
    const body = await board.read('/entries');
    expect([body.game, body.entries.length]).toEqual([board.game, 20]);
    const playerId = expect.stringMatching(/^[\w-]{10}$/);
    expect(body.entries[0]).toEqual({ rank: 1, playerId, name: 'p22', score: 11, at: expect.any(String) });
    expect((await board.read('/entries?limit=23')).nextCursor).toBeUndefined();
  });

  test('a cursor of a fractional, huge or tiny score leads on', async () => {
    const board = new Board();
    const scores = [
      ...[9007199254740991, 1e15 + 0.5, 0.1, 0.012345678901234568, 0.00012345678901234567, 1e-7, 5e-324, 0],
      ...[-1e-300, -0.30000000000000004, -9007199254740991],
    ];
    for (const [player, score] of scores.entries()) await board.submit(player, score);
    expect((await board.pages(1)).map(({ score }) => score)).toEqual(scores);
  });
});

describe('GET /v1/highscores/{game}/around', () => {
  test('shows the caller, or else the player of playerId, with the entries on both sides, fewer at an end of the board', async () => {
    const board = await filled();
    const around = (query: string) => board.read(`/around?${query}`);
    for (const [player, limit, from, to] of [
      [1, 3, 19, 23],
      [12, 3, 7, 14],
      [23, 5, 0, 7],
      [22, 50, 0, 23],
    ] as const) {
      const body = await around(`limit=${limit}&installId=${board.installId(player)}`);
      expect(lines(body.entries)).toEqual(FILLED.slice(from, to));
      expect([body.you.name, body.entries]).toEqual([`p${player}`, expect.arrayContaining([body.you])]);
    }
    const twelfth = await around(`installId=${board.installId(12)}`);
    expect(twelfth.entries).toHaveLength(21);
    const { playerId } = twelfth.you;
    expect(await around(`playerId=${playerId}`)).toEqual(twelfth);
    expect((await around(`playerId=${playerId}&installId=${board.installId(4)}`)).you.name).toBe('p4');
  });

  test('without a score `you` is null, on a board of others and on an empty one', async () => {
    const board = new Board();
    await board.submit(1, 1);
    for (const [game, who] of [
      [board.game, `installId=${freshId()}`],
      [board.game, `playerId=${'a'.repeat(10)}`],
      [freshGame(), `installId=${freshId()}`],
    ])
      expect((await service.get(`/v1/highscores/${game}/around?${who}`)).body).toEqual({ ok: true, game, you: null, entries: [] });
  });
});

test.each([
  ['entries?limit=0', 'limit'],
  ['entries?limit=101', 'limit'],
  ['entries?cursor=', 'cursor'],
  [`entries?cursor=${'a'.repeat(101)}`, 'cursor'],
  [`entries?cursor=${Buffer.from('(1 aaaaaaaaaaaaaaaaa').toString('base64url')}`, 'cursor'],
  [`entries?cursor=${Buffer.from('1 short').toString('base64url')}`, 'cursor'],
  [`entries?cursor=${Buffer.from('+inf aaaaaaaaaaaaaaaaa').toString('base64url')}`, 'cursor'],
  ['around?installId=install-0001&limit=51', 'limit'],
  ['around?installId=install-0001&playerId=short', 'playerId'],
])('%s is invalid_request', async (query, field) => {
  const { status, body } = await service.get(`/v1/highscores/${freshGame()}/${query}`);
  expect([status, body.error]).toMatchObject([400, { code: 'invalid_request', field }]);
});

test('each 20 entries of a page, and around a player, count as a request of the address', async () => {
  const burst = 20;
  const settings = { RATE_LIMIT: 'on', RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: String(burst), TRUSTED_PROXIES: '127.0.0.1' };
  await using limited = await start({ settings, stoppedClock: true });
  const game = freshGame();
  let address = 0;
  for (const [query, cost] of [
    ['entries', 1],
    ['entries?limit=20', 1],
    ['entries?limit=21', 2],
    ['entries?limit=100', 5],
    ['around?installId=install-0001', 1],
    ['around?limit=50&installId=install-0001', 5],
  ] as const) {
    const headers = { 'x-forwarded-for': `203.0.113.${++address}` };
    let answered = 0;
    while ((await limited.get(`/v1/highscores/${game}/${query}`, { headers })).status === 200) answered++;
    expect([query, answered]).toEqual([query, burst / cost]);
  }
});

test("GET /v1/highscores/{game} has the caller's own entry, however far down it is, or null. Without a caller there is no `you`", async () => {
  const board = await filled();
  const body = await board.read(`?installId=${board.installId(1)}`);
  expect(lines([...body.top, body.you])).toEqual([...FILLED.slice(0, 10), '23 p1 0']);
  const cookies = await signIn(service, board.installId(22));
  expect((await service.get(`/v1/highscores/${board.game}`, { cookies })).body.you).toEqual(body.top[0]);
  expect((await board.read(`?installId=${freshId()}`)).you).toBe(null);
  expect(await new Board().read(`?installId=${freshId()}`)).toMatchObject({ top: [], you: null });
  expect(await board.read()).not.toHaveProperty('you');
});
