import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { addEntry } from '../../board-entries.ts';
import { forFile, freshId, signIn, start, type TestReply } from '../../harness.ts';
import { BoardModel } from './board-model.ts';
import { catalogueFile, catalogueOf } from './catalogue-of.ts';

const ascending = Array.from({ length: 15 }, () => freshGame());
const service = await forFile(start({ settings: { CATALOGUE_FILE: catalogueFile(catalogueOf(ascending)), BOARDS: 'open' } }));

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

/** A board and its model, with the same players. */
class Board {
  readonly game: string;
  readonly model: BoardModel;
  readonly #prefix = freshId();

  constructor(order: 'asc' | 'desc' = 'desc') {
    this.game = order === 'asc' ? ascending.pop()! : freshGame();
    this.model = new BoardModel(order);
  }

  installId(player: number): string {
    return `${this.#prefix}-player-${player}`;
  }

  async submit(player: number, score: number, name = `p${player}`): Promise<void> {
    this.model.submit(player, score, name);
    const reply = await service.post(`/v1/highscores/${this.game}`, { installId: this.installId(player), score, name });
    expect(reply.status).toBe(200);
  }

  async fill(count: number): Promise<this> {
    for (let player = 1; player <= count; player++) await this.submit(player, Math.floor(player / 2));
    return this;
  }

  page(query = ''): Promise<TestReply> {
    return service.get(`/v1/highscores/${this.game}/entries?${query}`);
  }

  /** @param between runs after each page */
  async pages(limit: number, between: (page: number) => Promise<unknown> = async () => {}): Promise<Shown[]> {
    const found: Shown[] = [];
    let cursor = '';
    for (let page = 0; ; page++) {
      const { body } = await this.page(`limit=${limit}${cursor}`);
      found.push(...(body.entries as Shown[]));
      if (body.nextCursor === undefined) return found;
      cursor = `&cursor=${body.nextCursor}`;
      await between(page);
    }
  }

  around(player: number, limit: number): Promise<TestReply> {
    return service.get(`/v1/highscores/${this.game}/around?limit=${limit}&installId=${this.installId(player)}`);
  }
}

describe('GET /v1/highscores/{game}/entries', () => {
  test('pages lead through the whole board, and the last one has no cursor', async () => {
    const board = await new Board().fill(23);
    for (const limit of [1, 7, 22, 23, 24, 100]) expect(lines(await board.pages(limit))).toEqual(board.model.all());
    const { body } = await board.page();
    expect([body.game, body.entries.length]).toEqual([board.game, 20]);
    expect(body.entries[0]).toEqual({
      rank: 1,
      playerId: expect.stringMatching(/^[\w-]{10}$/),
      name: 'p22',
      score: 11,
      at: expect.any(String),
    });
    expect((await board.page('limit=23')).body.nextCursor).toBeUndefined();
  });

  test.each(['desc', 'asc'] as const)(
    'entries that stay are neither skipped nor repeated while others come, go and move (%s)',
    async (order) => {
      const board = new Board(order);
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
      for (let player = 1; player <= count; player++)
        if (stays(player)) expect(names.filter((name) => name === `p${player}`)).toHaveLength(1);
      const ids = found.map(({ playerId }) => playerId);
      expect(new Set(ids).size).toBe(ids.length);
    },
  );

  test('a page behind an entry that left begins where the entry was, among equal scores too', async () => {
    const board = new Board();
    for (let player = 1; player <= 40; player++) await board.submit(player, 5);
    const { body } = await board.page('limit=15');
    const { redis } = service.service;
    // All entries of the page leave, as those of deleted accounts do.
    const members = await redis.zrevrange(boardKeys.scores(board.game), 0, -1);
    await redis.zrem(boardKeys.scores(board.game), ...members.slice(0, 15));
    const next = (await board.page(`limit=25&cursor=${body.nextCursor}`)).body;
    expect(lines(next.entries)).toEqual(Array.from({ length: 25 }, (_, index) => `1 p${16 + index} 5`));
    expect(next.nextCursor).toBeUndefined();
  });

  test('names that changed later show, also of an entry on a page to come', async () => {
    const board = await new Board().fill(6);
    const { body } = await board.page('limit=3');
    await board.submit(1, -5, 'renamed');
    expect(lines((await board.page(`cursor=${body.nextCursor}`)).body.entries)).toEqual(board.model.all().slice(3));
    expect(board.model.all().at(-1)).toBe('6 renamed 0');
  });

  test.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['cursor=', 'cursor'],
    [`cursor=${'a'.repeat(101)}`, 'cursor'],
    [`cursor=${Buffer.from('(1 aaaaaaaaaaaaaaaaa').toString('base64url')}`, 'cursor'],
    [`cursor=${Buffer.from('1 short').toString('base64url')}`, 'cursor'],
    [`cursor=${Buffer.from('+inf aaaaaaaaaaaaaaaaa').toString('base64url')}`, 'cursor'],
  ])('%s is invalid_request', async (query, field) => {
    const { status, body } = await new Board().page(query);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', field]);
  });

  test('a cursor of a fractional, huge or tiny score leads on', async () => {
    const board = new Board();
    const scores = [
      9007199254740991,
      1e15 + 0.5,
      0.1,
      0.012345678901234568,
      0.00012345678901234567,
      1e-7,
      5e-324,
      0,
      -1e-300,
      -0.30000000000000004,
      -9007199254740991,
    ];
    for (const [player, score] of scores.entries()) await board.submit(player, score);
    expect((await board.pages(1)).map(({ score }) => score)).toEqual(scores);
  });
});

describe('GET /v1/highscores/{game}/around', () => {
  test('shows the caller with the entries on both sides, fewer at an end of the board', async () => {
    const board = await new Board().fill(23);
    for (const [player, limit] of [
      [1, 3],
      [12, 3],
      [23, 5],
      [22, 50],
      [9, 1],
    ] as const) {
      const { body } = await board.around(player, limit);
      const place = board.model.placeOf(player);
      expect(lines(body.entries)).toEqual(board.model.all().slice(Math.max(0, place - limit), place + limit + 1));
      expect(body.you).toEqual(body.entries[Math.min(place, limit)]);
      expect(body.you.name).toBe(`p${player}`);
    }
    const { body } = await service.get(`/v1/highscores/${board.game}/around`, { headers: { 'x-install-id': board.installId(12) } });
    expect(body.entries).toHaveLength(21);
  });

  test('without a score `you` is null, on a board of others and on an empty one', async () => {
    const board = await new Board().fill(3);
    for (const game of [board.game, freshGame()])
      expect((await service.get(`/v1/highscores/${game}/around?installId=${freshId()}`)).body).toEqual({
        ok: true,
        game,
        you: null,
        entries: [],
      });
  });

  test('without a caller the playerId names the player; with one it is ignored', async () => {
    const board = await new Board().fill(5);
    const { playerId } = (await board.around(2, 1)).body.you;
    const path = `/v1/highscores/${board.game}/around?limit=1&playerId=${playerId}`;
    expect((await service.get(path)).body).toEqual((await board.around(2, 1)).body);
    expect((await service.get(`${path}&installId=${board.installId(4)}`)).body.you.name).toBe('p4');
    const unknown = await service.get(`/v1/highscores/${board.game}/around?playerId=${'a'.repeat(10)}`);
    expect(unknown.body).toMatchObject({ you: null, entries: [] });
  });

  test.each([
    ['limit=0', 'limit'],
    ['limit=51', 'limit'],
    ['playerId=short', 'playerId'],
  ])('%s is invalid_request', async (query, field) => {
    const { status, body } = await service.get(`/v1/highscores/${freshGame()}/around?installId=${freshId()}&${query}`);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', field]);
  });
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
  test("has the caller's own entry, however far down it is", async () => {
    const board = await new Board().fill(15);
    const { body } = await service.get(`/v1/highscores/${board.game}?installId=${board.installId(1)}`);
    expect(lines([...body.top, body.you])).toEqual([...board.model.all().slice(0, 10), '15 p1 0']);
    const cookies = await signIn(service, board.installId(14));
    expect((await service.get(`/v1/highscores/${board.game}`, { cookies })).body.you).toEqual(body.top[0]);
  });

  test('has `you` null without a score, and no `you` without a caller', async () => {
    const board = await new Board().fill(2);
    expect((await service.get(`/v1/highscores/${board.game}?installId=${freshId()}`)).body.you).toBe(null);
    expect((await service.get(`/v1/highscores/${board.game}`)).body).not.toHaveProperty('you');
    expect((await service.get(`/v1/highscores/${freshGame()}?installId=${freshId()}`)).body).toMatchObject({ top: [], you: null });
  });

  test('shows a submission that was answered before, in the list and as you', async () => {
    const board = await new Board().fill(3);
    const path = `/v1/highscores/${board.game}?installId=${board.installId(3)}`;
    for (let score = 10; score < 20; score++) {
      await board.submit(3, score);
      const { body } = await service.get(path);
      expect([body.you.score, body.top[0].score]).toEqual([score, score]);
    }
  });
});
