import { randomBytes } from 'node:crypto';
import type { Subscriptions } from '../../redis/subscriber.ts';
import { Encoded } from '../../server/http/endpoint.ts';
import { LruCache } from '../../server/lru-cache.ts';
import type { ScoreOrder } from '../catalogue/model.ts';
import { boardKeys, gameOf, parseEntries, seasonIn } from './model.ts';

/** Maximum age of a cached top ten in milliseconds, counted from the request to Redis that read it. */
const FRESH_MS = 100;

/** Boards in the cache, about 3 KB each. Beyond that, the boards used least recently are dropped. */
const BOARDS_AT_HAND = 1000;

/**
 * How long a submission's answer waits after its board has moved to another primary of a Cluster. A process that does not know of the move
 * yet gets no message about the submission. After this time its cached list, which was read before the move, is no longer fresh.
 */
export const SETTLING_MS = FRESH_MS;

/** Texts that are part of each answer with a list. */
export interface ListText {
  /** The list in JSON. */
  readonly text: string;
  /** `,"season":{…}` of the list's season, '' without one. */
  readonly season: string;
}

/** A top ten as one script read it from Redis. */
interface Top {
  readonly list: ListText;
  /** The answer of `GET /v1/highscores/{game}`. */
  readonly answer: Encoded;
  /** The version (`submit.lua`). Two lists of one version and one order are equal. */
  readonly version: string;
  readonly order: ScoreOrder;
  /** A time of `performance.now()`. */
  readonly freshUntil: number;
}

/** The cached state of a board. A message about the board replaces the object, so that late results are not cached. */
class Board {
  top: Top | undefined;
  /** The answer of a running read. Readers join it until `joinUntil`. */
  reading: Promise<Encoded> | undefined;
  joinUntil = 0;

  constructor(top?: Top) {
    this.top = top;
  }
}

/** The subscription to a board's channel. A lost subscription replaces the object, so that a late confirmation has no effect. */
interface Hearing {
  state: 'none' | 'asked' | 'confirmed';
}

/** A board in the cache. */
class Held {
  board = new Board();
  hearing: Hearing = { state: 'none' };
}

/**
 * Cached top tens: a process reads each from Redis about ten times a second, even if many clients read or submit. The cache also has
 * the list's version. A submission sends the version to Redis, and gets the list only if the version has changed. Otherwise Redis
 * reads no list, and the process parses and encodes none: that saves 5 µs of Redis and 8 µs of the process.
 *
 * A reader's list includes every submission that was answered before the request:
 *
 * 1. Submissions to this process: its scripts run on one connection, and their answers arrive in the order in which the scripts ran
 *    (`ScriptRunner`). So the last list that arrived is the newest, and a read that still runs when a submission is answered ran after
 *    it. On a Cluster the scripts of submissions whose callers are on different primaries may overtake each other: of two fresh lists,
 *    the cache keeps the one with the higher version.
 * 2. Submissions to another process: Redis publishes each change of a top ten on the board's channel, and the other process answers
 *    its client once the message is written (`submit.ts`). The message replaces the `Board`. Later readers do not join an earlier
 *    read, and the results of earlier reads and submissions are not cached.
 * 3. Both at once: a submission that ends after such a message drops lists that were read since, because they may lack its score.
 *
 * A board is cached only while its channel is subscribed to, and only lists that were requested after the subscription was confirmed.
 * The subscription begins at the second use of a board in the cache, so a board that is used once needs none. A lost subscription
 * drops the cached list.
 *
 * Only a read of the list makes it fresh, never an unchanged version: an operator's edit in Redis does not change the version, nor
 * does a process whose catalogue gives the game the other order. Answers show such a change within `FRESH_MS`.
 */
export class BoardCache {
  /** The name that this process publishes on the channels, so that it can ignore its own messages. */
  readonly publisher = randomBytes(9).toString('base64url');
  /** The seed from which this process makes the secrets of new boards. */
  readonly seed = randomBytes(24).toString('base64url');
  /** True: no other process submits to this Redis. Readers then need not wait for `heard()`. */
  readonly isAlone: boolean;
  readonly #subscriber: BoardSubscriptions;
  readonly #boards: LruCache<string, Held>;
  #turn: Promise<void> | undefined;

  /** @param subscriber receives other processes' submissions */
  constructor(subscriber: BoardSubscriptions, isAlone: boolean) {
    this.isAlone = isAlone;
    this.#subscriber = subscriber;
    this.#boards = new LruCache(BOARDS_AT_HAND, (dropped) => {
      for (const [game, held] of dropped) this.#leave(game, held);
    });
    subscriber.on('message', (channel, publisher) => {
      if (publisher === this.publisher) return;
      const game = gameOf(channel);
      // `peek`: submissions to other processes must not keep a board in the cache that this process does not use.
      const held = game === undefined ? undefined : this.#boards.peek(game);
      if (held !== undefined) held.board = new Board();
    });
    subscriber.on('close', (isLost) => {
      for (const [game, held] of this.#boards.entries()) {
        if (!isLost(boardKeys.channel(game))) continue;
        held.board = new Board();
        held.hearing = { state: 'none' };
      }
    });
  }

  /** The answer for a reader, or its promise while Redis reads it. Undefined: no fresh list. */
  find(game: string): Encoded | Promise<Encoded> | undefined {
    const board = this.#boards.get(game)?.board;
    if (board === undefined) return undefined;
    const now = performance.now();
    if (board.top !== undefined && now < board.top.freshUntil) return board.top.answer;
    return now < board.joinUntil ? board.reading : undefined;
  }

  /**
   * Reads the top ten for a reader. Later readers share the result until it is too old.
   * @param ask sends `top.lua`, and resolves with its answer
   */
  read(game: string, order: ScoreOrder, ask: () => Promise<readonly [word: string, ...words: string[]]>): Promise<Encoded> {
    const { board, hearing } = this.#use(game);
    const freshUntil = freshUntilOf(hearing);
    // Readers must not join a finished read: its list may be older than the cached one, and a failure is not shared.
    const ended = (): void => {
      if (board.reading === reading) board.reading = undefined;
    };
    const reading = ask().then(
      ([, ...words]) => {
        ended();
        return (board.top = topOf(game, order, words, freshUntil)).answer;
      },
      (error: unknown) => {
        ended();
        throw error;
      },
    );
    board.reading = reading;
    board.joinUntil = freshUntil;
    if (freshUntil === 0) this.#shareUntilSent(board, reading);
    return reading;
  }

  /**
   * To be called before sending a script that submits a score or reads an account's own entry.
   * @param isApart the script runs on another connection than reads, so its answer may overtake theirs
   */
  call(game: string, order: ScoreOrder, isApart = false): BoardCall {
    const held = this.#use(game);
    const { board, hearing } = held;
    const { top } = board;
    const known = top !== undefined && top.order === order && performance.now() < top.freshUntil ? top : undefined;
    const freshUntil = freshUntilOf(hearing);
    const isCounted = hearing.state === 'confirmed';
    return {
      known: known?.version ?? '',
      // If the subscription was confirmed or lost meanwhile, the script may or may not have counted it.
      others: (listeners) => listeners - (isCounted && held.hearing === hearing ? 1 : 0),
      listOf: (words) => {
        if (known !== undefined && words[2] === known.version) return known.list;
        const read = topOf(game, order, words, freshUntil);
        const present = this.#boards.peek(game);
        if (present?.board === board) {
          // Later readers must not join a read that may have run before this script.
          if (isApart) present.board = new Board(board.top);
          if (!isOlder(read, board.top)) present.board.top = read;
        } else if (present !== undefined) present.board = new Board();
        return read.list;
      },
    };
  }

  /**
   * Resolves at the end of this turn of the event loop, when all data that had arrived at its start has been read. A reader waits for
   * it because the process may read the message about an earlier submission after the reader's request, although it arrived before.
   */
  heard(): Promise<void> {
    this.#turn ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#turn = undefined;
        resolve();
      });
    });
    return this.#turn;
  }

  /** Whether this process is among the subscribers of the board's channel. */
  hears(game: string): boolean {
    return this.#boards.peek(game)?.hearing.state === 'confirmed';
  }

  /**
   * The read is sent at the end of this turn of the event loop (`ScriptBatches`). Readers that come before may join it: it includes all
   * submissions answered before their requests. Otherwise each of many readers would read a board that is not cached yet.
   */
  #shareUntilSent(board: Board, reading: Promise<Encoded>): void {
    board.joinUntil = Infinity;
    setImmediate(() => {
      if (board.reading === reading) board.joinUntil = 0;
    });
  }

  async #listen(game: string, hearing: Hearing): Promise<void> {
    hearing.state = 'asked';
    try {
      await this.#subscriber.subscribe(boardKeys.channel(game));
      hearing.state = 'confirmed';
    } catch {
      // Redis is down, or the board's slot is being moved: the next use subscribes again.
      hearing.state = 'none';
    }
  }

  #leave(game: string, held: Held): void {
    const { state } = held.hearing;
    held.hearing = { state: 'none' };
    if (state === 'none') return;
    this.#subscriber.unsubscribe(boardKeys.channel(game)).catch(() => {
      // The subscription ended with its connection.
    });
  }

  #use(game: string): Held {
    const known = this.#boards.get(game);
    if (known !== undefined) {
      if (known.hearing.state === 'none') void this.#listen(game, known.hearing);
      return known;
    }
    const held = new Held();
    this.#boards.set(game, held);
    return held;
  }
}

type BoardSubscriptions = Pick<Subscriptions, 'on' | 'subscribe' | 'unsubscribe'>;

/** A running submission, or the read of an own entry. */
export interface BoardCall {
  /** The version of the list that the process has for the answer; '' if it has none. */
  readonly known: string;
  /**
   * The list for the answer. To be called as soon as the script's answer arrives, because the cache keeps
   * the list of the last call.
   * @param words the season or '', its end, the version, then member, score, … best first. They end with the version if it is still
   * `known`
   */
  listOf(words: readonly string[]): ListText;
  /**
   * How many other processes listen. To be called as soon as the script's answer arrives.
   * @param listeners subscribers of the board's channel, as the script counted them
   */
  others(listeners: number): number;
}

/** Whether a list that has just arrived is older than the cached one. */
function isOlder(read: Top, cached: Top | undefined): boolean {
  // If the counter of versions is lost, it begins again. So a cached list counts only while it is fresh.
  return cached !== undefined && performance.now() < cached.freshUntil && Number(read.version) < Number(cached.version);
}

function freshUntilOf({ state }: Hearing): number {
  return state === 'confirmed' ? performance.now() + FRESH_MS : 0;
}

function topOf(game: string, order: ScoreOrder, [id, endsAt, version, ...entries]: readonly string[], freshUntil: number): Top {
  const text = JSON.stringify(parseEntries(entries));
  const { season } = seasonIn(id!, endsAt!);
  const list = { text, season: season === undefined ? '' : `,"season":${JSON.stringify(season)}` };
  const answer = new Encoded(`{"ok":true,"game":${JSON.stringify(game)},"top":${text}${list.season}}`);
  return { list, answer, version: version!, order, freshUntil };
}
