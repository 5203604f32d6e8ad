import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import type { Answer, Asking, Client } from '../../proofs/client.ts';
import { BoardModel, type Entry } from './board-model.ts';

/** Random operations on one board, each compared with a model: for a small test, and for a proof with a million operations. */

export interface BoardService {
  /** A client of one process, or of several on one Redis. */
  readonly client: Client;
  /** A server key of an operator. */
  readonly bearer: string;
}

interface Player {
  readonly accountId: string;
  /** How its requests name it. */
  readonly who: Asking;
  /** Only for a store account. Guests may move into one. */
  readonly subject?: string;
  readonly installId?: string;
  isBanned: boolean;
}

interface Shown {
  readonly rank: number;
  readonly name: string;
  readonly score: number;
}

const linesOf = (entries: readonly Shown[]): string[] => entries.map(({ rank, name, score }) => `${rank} ${name} ${score}`);

const STORE_ACCOUNTS = 8;

/** Milliseconds for which a read of the top ten may miss an operator's change. */
const CACHED_MS = 1000;

/** Tries of a read that the service cannot do in time. */
const READ_TRIES = 5;

export class RandomBoard {
  /** The number of operations so far, by name. */
  readonly counts: Record<string, number> = {};
  readonly #service: BoardService;
  readonly #game: string;
  readonly #random: () => number;
  readonly #model: BoardModel;
  readonly #players: Player[] = [];

  private constructor(service: BoardService, game: string, order: 'asc' | 'desc', random: () => number) {
    this.#service = service;
    this.#game = game;
    this.#random = random;
    this.#model = new BoardModel(order);
  }

  static async open(
    service: BoardService,
    { game, order, players, random }: { game: string; order: 'asc' | 'desc'; players: number; random: () => number },
  ): Promise<RandomBoard> {
    const board = new RandomBoard(service, game, order, random);
    for (let player = 0; player < players; player++)
      board.#players.push(player < STORE_ACCOUNTS ? await board.#signedIn(randomBytes(9).toString('hex')) : guest());
    return board;
  }

  async step(): Promise<void> {
    const draw = this.#random() * 1000;
    if (draw < 4) return this.#count('reset', this.#reset());
    if (draw < 14) return this.#count('delete', this.#delete());
    if (draw < 22) return this.#count('move', this.#move());
    if (draw < 37) return this.#count('remove', this.#remove());
    if (draw < 82) return this.#count('ban or unban', this.#ban());
    if (draw < 152) return this.#count('around', this.#around());
    if (draw < 162) return this.#count('pages', this.#pages());
    if (draw < 172) return this.#count('top', this.#top());
    return this.#count('submit', this.#submit());
  }

  async #count(what: string, work: Promise<void>): Promise<void> {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
    await work;
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  #any(): number {
    return this.#below(this.#players.length);
  }

  async #submit(): Promise<void> {
    const player = this.#any();
    const { who, isBanned } = this.#players[player]!;
    // Many scores are equal.
    const score = this.#random() < 0.1 ? this.#random() * 40 - 20 : this.#below(41) - 20;
    const name = this.#random() < 0.7 ? `p${player}` : `p${player} ${'é'.repeat(this.#below(14))}x`;
    const { status, body } = await this.#post(`/v1/highscores/${this.#game}`, { score, name }, who);
    if (isBanned) return assert.equal(status, 403);
    assert.equal(status, 200, JSON.stringify(body));
    const { personalBest, best, rank, top } = this.#model.submit(player, score, name);
    assert.deepEqual([body.personalBest, body.best, body.rank, linesOf(body.top)], [personalBest, best, rank, top]);
  }

  async #top(): Promise<void> {
    const read = async () => linesOf((await this.#get('')).body.top);
    const until = performance.now() + CACHED_MS;
    let shown = await read();
    while (shown.join() !== this.#model.top().join() && performance.now() < until) {
      await delay(10);
      shown = await read();
    }
    assert.deepEqual(shown, this.#model.top());
  }

  async #around(): Promise<void> {
    const player = this.#any();
    const { who, isBanned } = this.#players[player]!;
    const limit = 1 + this.#below(15);
    const { status, body } = await this.#get(`/around?limit=${limit}`, who);
    if (isBanned) return assert.equal(status, 403);
    assert.deepEqual(linesOf(body.entries), this.#model.around(player, limit));
    assert.deepEqual(body.you === null ? [] : linesOf([body.you]), this.#model.around(player, 0));
  }

  /** Reads all pages, with changes in between. */
  async #pages(): Promise<void> {
    const limit = 1 + this.#below(100);
    let [cursor, last]: [string, Entry | undefined] = ['', undefined];
    do {
      const { status, body } = await this.#get(`/entries?limit=${limit}${cursor}`);
      assert.equal(status, 200, JSON.stringify(body));
      const expected = this.#model.page(limit, last);
      assert.deepEqual(linesOf(body.entries), expected.lines);
      assert.equal(body.nextCursor !== undefined, this.#model.page(1, expected.last).lines.length > 0 && expected.last !== undefined);
      last = expected.last;
      cursor = body.nextCursor && `&cursor=${body.nextCursor}`;
      for (let changes = this.#below(3); changes > 0; changes--) await this.#count('submit', this.#submit());
      if (this.#below(4) === 0) await this.#count('ban or unban', this.#ban());
    } while (cursor !== undefined);
  }

  async #ban(): Promise<void> {
    const number = this.#any();
    const player = this.#players[number]!;
    const verb = player.isBanned ? 'unban' : 'ban';
    // More bans would leave no players.
    if (verb === 'ban' && this.#players.filter(({ isBanned }) => isBanned).length * 4 > this.#players.length) return;
    // An install that has done nothing has no account.
    if ((await this.#operate(`/accounts/${player.accountId}/${verb}`, {}, [200, 404])) === 404) return;
    player.isBanned = !player.isBanned;
    this.#model[verb](number);
  }

  async #remove(): Promise<void> {
    const player = this.#any();
    await this.#operate(`/boards/${this.#game}/remove`, { player: `account:${this.#players[player]!.accountId}` }, [200, 404]);
    this.#model.remove(player);
  }

  async #delete(): Promise<void> {
    const player = this.#any();
    if (this.#players[player]!.subject !== undefined) return;
    await this.#operate(`/accounts/${this.#players[player]!.accountId}/delete`, {}, [200, 404]);
    this.#model.remove(player);
    this.#players[player] = guest();
  }

  async #reset(): Promise<void> {
    await this.#operate(`/boards/${this.#game}/reset`, {}, [200, 404]);
    this.#model.reset();
  }

  /** A guest signs in to a store account, and a new guest replaces it. */
  async #move(): Promise<void> {
    const [from, to] = [this.#any(), this.#below(STORE_ACCOUNTS)];
    const { installId, isBanned } = this.#players[from]!;
    const { subject, isBanned: isRefused } = this.#players[to]!;
    if (installId === undefined || isBanned || isRefused) return;
    this.#players[to] = await this.#signedIn(subject!, installId);
    this.#model.move(from, to);
    this.#players[from] = guest();
  }

  async #signedIn(subject: string, installId?: string): Promise<Player> {
    const { token } = (await this.#post('/sandbox/issue', { kind: 'id_token', subject })).body;
    const { status, body } = await this.#post('/v1/account/store-provision', { token, installId, session: 'token' });
    assert.equal(status, 200);
    return { accountId: body.accountId, who: { bearer: body.sessionToken }, subject, isBanned: false };
  }

  async #operate(path: string, body: object, statuses: readonly number[]): Promise<number> {
    const { status } = await this.#post(`/v1/admin${path}`, { reason: 'test', ...body }, { bearer: this.#service.bearer });
    assert.ok(statuses.includes(status), `${path} answered ${status}`);
    return status;
  }

  /** A write that fails has an unknown outcome, so it ends the run. */
  async #post(path: string, body: object, who?: Asking): Promise<Answer> {
    const answer = await this.#service.client.post(path, body, who);
    assert.ok(answer.status > 0 && answer.status < 500, `${path} answered ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }

  async #get(path: string, who?: Asking): Promise<Answer> {
    // On a busy machine a read may fail.
    for (let tries = 1; ; tries++) {
      const answer = await this.#service.client.ask(`/v1/highscores/${this.#game}${path}`, who);
      if (answer.status > 0 && answer.status < 500) return answer;
      assert.notEqual(tries, READ_TRIES, `${path} answered ${answer.status} ${JSON.stringify(answer.body)}`);
      await delay(200);
    }
  }
}

function guest(): Player {
  const installId = `install-${randomBytes(9).toString('hex')}`;
  return { accountId: accountIdOf(installId), who: { installId }, installId, isBanned: false };
}
