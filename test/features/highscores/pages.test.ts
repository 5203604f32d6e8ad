import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { addEntry } from '../../board-entries.ts';
import { forFile, freshId, signIn, start } from '../../harness.ts';
import { catalogueFile, catalogueOf } from './catalogue-of.ts';

const ascending = freshGame();
const service = await forFile(start({ settings: { CATALOGUE_FILE: catalogueFile(catalogueOf([ascending])), BOARDS: 'open' } }));

function freshGame(): string {
  return freshId('game').toLowerCase();
}

interface Shown {
  rank: number;
  playerId: string;
  name: string;
  score: number;
}
const lines = (entries: Shown[]): string[] => entries.map(({ rank, name, score }) => `${rank} ${name} ${score}`);

/** A board whose players have numbers. */
class Board {
  readonly game: string;
  readonly #prefix = freshId();

  constructor(game = freshGame()) {
    this.game = game;
  }

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

  /** @param between runs after each page */
  async pages(limit: number, between: (page: number) => Promise<unknown> = async () => {}): Promise<Shown[]> {
    const found: Shown[] = [];
    let cursor = '';
    for (let page = 0; ; page++) {
      const body = await this.read(`/entries?limit=${limit}${cursor}`);
      found.push(...(body.entries as Shown[]));
      if (body.nextCursor === undefined) return found;
      cursor = `&cursor=${body.nextCursor}`;
      await between(page);
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

// random-board.test.ts compares pages and neighbours with a model.
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

  test.each([
    ['desc', undefined],
    ['asc', ascending],
  ])('entries that stay are neither skipped nor repeated while others come, go and move (%s)', async (order, game) => {
    const board = new Board(game);
    const count = 24;
    for (let player = 1; player <= count; player++) await board.submit(player, Math.floor(player / 4));
    const stays = (player: number): boolean => player % 3 === 0;
    const better = order === 'asc' ? -1 : 1;
    const found = await board.pages(3, async (page) => {
      // The last entry of the page is among the moved entries.
      for (const player of [page * 2 + 1, count - page * 2])
        if (player >= 1 && !stays(player)) await board.submit(player, better * (100 + page));
      await board.submit(1000 + page, page % 6);
      await addEntry(service.service.redis, board.game, accountIdOf(freshId()), (page * 7) % 6, 'new');
    });
    const names = found.map(({ name }) => name);
    for (let player = 3; player <= count; player += 3) expect(names.filter((name) => name === `p${player}`)).toHaveLength(1);
    const ids = found.map(({ playerId }) => playerId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('a page behind an entry that left begins where the entry was, among equal scores too', async () => {
    const board = new Board();
    for (let player = 1; player <= 40; player++) await board.submit(player, 5);
    const { nextCursor } = await board.read('/entries?limit=15');
    const { redis } = service.service;
    // All entries of the page leave, as those of deleted accounts do.
    const members = await redis.zrevrange(boardKeys.scores(board.game), 0, -1);
    await redis.zrem(boardKeys.scores(board.game), ...members.slice(0, 15));
    const next = await board.read(`/entries?limit=25&cursor=${nextCursor}`);
    expect(lines(next.entries)).toEqual(Array.from({ length: 25 }, (_, index) => `1 p${16 + index} 5`));
    expect(next.nextCursor).toBeUndefined();
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

describe('GET /v1/highscores/{game} with a caller', () => {
  test("has the caller's own entry, however far down it is, or null. Without a caller there is no `you`", async () => {
    const board = await filled();
    const body = await board.read(`?installId=${board.installId(1)}`);
    expect(lines([...body.top, body.you])).toEqual([...FILLED.slice(0, 10), '23 p1 0']);
    const cookies = await signIn(service, board.installId(22));
    expect((await service.get(`/v1/highscores/${board.game}`, { cookies })).body.you).toEqual(body.top[0]);
    expect((await board.read(`?installId=${freshId()}`)).you).toBe(null);
    expect(await new Board().read(`?installId=${freshId()}`)).toMatchObject({ top: [], you: null });
    expect(await board.read()).not.toHaveProperty('you');
  });

  test('shows a submission that was answered before, in the list and as you', async () => {
    const board = new Board();
    for (let score = 10; score < 20; score++) {
      await board.submit(3, score);
      expect(await board.read(`?installId=${board.installId(3)}`)).toMatchObject({ you: { score }, top: [{ score }] });
    }
  });
});
