import { randomBytes } from 'node:crypto';
import type { Subscriptions } from '../../redis/subscriber.ts';
import { Encoded } from '../../server/http/endpoint.ts';
import { LruCache } from '../../server/lru-cache.ts';
import type { ScoreOrder } from '../catalogue/model.ts';
import { parseTop } from './model.ts';

/** Maximum age of a cached top ten in milliseconds, counted from the request to Redis that read it. */
const FRESH_MS = 100;

/** The channel on which `submit.lua` and `move-entry.lua` publish a changed top ten as `<publisher> <game>`; a move's publisher is `-`. */
const CHANNEL = 'boards';

/** Boards in the cache, about 3 KB each. Beyond that, the boards used least recently are dropped. */
const BOARDS_AT_HAND = 1000;

/** A top ten as one script read it from Redis. */
interface Top {
  /** The list in JSON. Every answer that shows the list holds this text. */
  readonly list: string;
  /** The answer of `GET /v1/highscores/{game}`. */
  readonly answer: Encoded;
  /** The version in Redis (`submit.lua`). Two lists of one version and one order are equal. */
  readonly version: string;
  readonly order: ScoreOrder;
  /** On the clock of `performance.now()`, in milliseconds. */
  readonly freshUntil: number;
}

/** What the process knows of a board. A message about the board replaces the object, so that late results go nowhere. */
class Board {
  top: Top | undefined;
  /** The answer of a read that is under way. Readers join it until `joinUntil`. */
  reading: Promise<Encoded> | undefined;
  joinUntil = 0;
}

/**
 * Cached top tens: a process reads each from Redis about ten times a second, however many clients read or submit. Beside a
 * cached list lies its version. A submission sends the version to Redis, and gets the list only if the version has changed.
 * Otherwise Redis reads no list, and the process parses and encodes none: that saves 5 µs of Redis and 8 of the process.
 *
 * What a reader gets holds every submission that was answered before the request:
 *
 * 1. Of this process: its scripts run on one connection, and their answers arrive in the order in which the scripts ran
 *    (`ScriptRunner`). So the last list that arrived is the newest, and a read that is under way when a submission is answered
 *    ran after it.
 * 2. Of another process: Redis publishes each change of a top ten, and the other process answers its client once the message
 *    is written (`submit.ts`). The message replaces the `Board`. Readers that come later do not join a read that began
 *    before, and neither its result nor that of a submission that began before is cached.
 * 3. Both at once: a submission that ends after such a message drops what was read since, which may lack its score.
 *
 * Only a read of the list makes it fresh, never an unchanged version. An operator's edit in Redis does not change the version, nor
 * does a process of an older release, nor a process whose catalogue gives the game the other order. Answers show such a change
 * within `FRESH_MS`.
 */
export class BoardCache {
  /** Names this process in the messages on the channel, so that it can ignore its own. */
  readonly publisher = randomBytes(9).toString('base64url');
  /** No other process submits to this Redis. A reader then answers at once, without waiting for `heard()`. */
  readonly isAlone: boolean;
  #boards = new LruCache<string, Board>(BOARDS_AT_HAND);
  #hearsOthers = false;
  #turn: Promise<void> | undefined;

  /** @param subscriber receives other processes' submissions; while it is disconnected, nothing is cached */
  constructor(subscriber: Pick<Subscriptions, 'on' | 'subscribe'>, isAlone: boolean) {
    this.isAlone = isAlone;
    subscriber.on('message', (channel, message) => {
      const [publisher, game] = channel === CHANNEL ? message.split(' ') : [];
      if (game !== undefined && publisher !== this.publisher) this.#boards.set(game, new Board());
    });
    subscriber.on('ready', () => void this.#listen(subscriber));
    subscriber.on('close', () => {
      this.#hearsOthers = false;
      this.#boards = new LruCache(BOARDS_AT_HAND);
    });
  }

  /** The answer to a reader, or the promise of one that is being read; undefined if none is fresh enough. */
  find(game: string): Encoded | Promise<Encoded> | undefined {
    const board = this.#boards.get(game);
    if (board === undefined) return undefined;
    const now = performance.now();
    if (board.top !== undefined && now < board.top.freshUntil) return board.top.answer;
    return now < board.joinUntil ? board.reading : undefined;
  }

  /**
   * Reads the top ten for a reader. Later readers share the result until it is too old.
   * @param ask sends `top.lua`, and resolves with its answer
   */
  read(game: string, order: ScoreOrder, ask: () => Promise<readonly [word: 'top', ...figures: string[]]>): Promise<Encoded> {
    const board = this.#boardOf(game);
    const freshUntil = this.#freshUntil();
    // A read that has ended is not joined: its list may be older than the cached one, and a failure is not shared.
    const ended = (): void => {
      if (board.reading === reading) board.reading = undefined;
    };
    const reading = ask().then(
      ([, ...figures]) => {
        ended();
        return (board.top = topOf(game, order, figures, freshUntil)).answer;
      },
      (error: unknown) => {
        ended();
        throw error;
      },
    );
    board.reading = reading;
    board.joinUntil = freshUntil;
    return reading;
  }

  /** To be called before a submission's script is sent. */
  submission(game: string, order: ScoreOrder): Submission {
    const board = this.#boardOf(game);
    const { top } = board;
    const known = top !== undefined && top.order === order && performance.now() < top.freshUntil ? top : undefined;
    const freshUntil = this.#freshUntil();
    return {
      known: known?.version ?? '',
      listOf: (figures) => {
        if (figures.length === 0) return known!.list;
        const read = topOf(game, order, figures, freshUntil);
        if (this.#boards.get(game) === board) board.top = read;
        else this.#boards.set(game, new Board());
        return read.list;
      },
    };
  }

  /**
   * Resolves at the end of this turn of the event loop, when everything that had arrived at its start has been read. A reader
   * waits for it because the message about an earlier submission may have arrived before the reader's request and yet be
   * read after it.
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

  /** Whether this process receives other processes' submissions. Boards are cached only while it does. */
  get hearsOthers(): boolean {
    return this.#hearsOthers;
  }

  async #listen(subscriber: Pick<Subscriptions, 'subscribe'>): Promise<void> {
    try {
      await subscriber.subscribe(CHANNEL);
      this.#hearsOthers = true;
    } catch {
      // Disconnected again: the next `ready` subscribes.
    }
  }

  #freshUntil(): number {
    return this.#hearsOthers ? performance.now() + FRESH_MS : 0;
  }

  #boardOf(game: string): Board {
    const known = this.#boards.get(game);
    if (known !== undefined) return known;
    const board = new Board();
    this.#boards.set(game, board);
    return board;
  }
}

/** A submission under way. */
export interface Submission {
  /** The version of the list that the process has for the submission's answer; '' if it has none. */
  readonly known: string;
  /**
   * The list for the submission's answer, in JSON. To be called as soon as the script's answer arrives, because the cache keeps
   * the list of the last call.
   * @param figures the version, then entry, score, … best first; empty if the version is still `known`
   */
  listOf(figures: readonly string[]): string;
}

function topOf(game: string, order: ScoreOrder, [version, ...entries]: readonly string[], freshUntil: number): Top {
  const list = JSON.stringify(parseTop(entries));
  const answer = new Encoded(`{"ok":true,"game":${JSON.stringify(game)},"top":${list}}`);
  return { list, answer, version: version!, order, freshUntil };
}
