import { randomBytes } from 'node:crypto';
import type { Subscriptions } from '../../redis/subscriber.ts';
import { Encoded } from '../../server/http/endpoint.ts';
import { LruCache } from '../../server/lru-cache.ts';
import type { ScoreOrder } from '../catalogue/model.ts';
import { boardKeys, gameOf, parseEntries, seasonIn } from './model.ts';

/** The highest age of a cached top ten, in milliseconds since the process sent the script that read the list. */
const FRESH_MS = 100;

/** The most boards in the cache, about 3 KB each. If there are more, the board used least recently is dropped. */
const BOARDS_AT_HAND = 1000;

/**
 * How long a board's slot must have been on its primary before submissions are answered, in milliseconds. On a Cluster a slot may move to
 * another primary. Until a process knows of the new primary, it gets no messages about submissions there. After this time, the list that
 * the process cached before the slot moved is no longer fresh.
 */
export const SETTLING_MS = FRESH_MS;

/** The two texts that answers contain for a top ten. */
export interface ListText {
  /** The list's entries, as a JSON array. */
  readonly text: string;
  /** The JSON text `,"season":{…}` with the list's season; '' for a list of a board of all time. */
  readonly season: string;
}

/** A top ten, as a script has read it from Redis. */
interface Top {
  readonly list: ListText;
  /** The answer to `GET /v1/highscores/{game}`. */
  readonly answer: Encoded;
  /** The version of the board's top ten (`submit.lua`). Two lists with the same version and the same order are equal. */
  readonly version: string;
  readonly order: ScoreOrder;
  /** The time until which readers may get this list, on the clock of `performance.now()`. */
  readonly freshUntil: number;
}

/**
 * The cached state of a board. When a message about a change of the board arrives, a new object replaces this one, so that the result of an
 * earlier read is not cached.
 */
class Board {
  top: Top | undefined;
  /**
   * The answer of a read that is still running. Further readers get the same answer until the time `joinUntil`, on the clock of
   * `performance.now()`.
   */
  reading: Promise<Encoded> | undefined;
  joinUntil = 0;

  constructor(top?: Top) {
    this.top = top;
  }
}

/**
 * The state of the subscription to a board's channel. If the subscription is lost, a new object replaces this one, so that a confirmation
 * that arrives later has no effect.
 */
interface Hearing {
  state: 'none' | 'asked' | 'confirmed';
}

/** A board in the cache, with its subscription. */
class Held {
  board = new Board();
  hearing: Hearing = { state: 'none' };
}

/**
 * The cache of top tens. A process reads each top ten from Redis about ten times a second, even if many clients read or submit. The cache
 * also has the list's version. A submission sends the version to Redis, and gets the list only if the version has changed. If the version
 * is the same, Redis reads no list, and the process parses and encodes no list. Each submission with the same version saves Redis 5 µs and
 * the process 8 µs.
 *
 * A reader's list includes every submission that was answered before the request:
 *
 * 1. Submissions to this process: the scripts of a process run on one connection, and their answers arrive in the order in which the
 *    scripts ran (`ScriptRunner`). So the last list that arrived is the newest. And if a submission is answered while a read has no answer
 *    yet, the script of the read ran after the submission's script. On a Cluster the scripts of submissions whose callers are on different
 *    primaries may overtake each other, so of two fresh lists the cache keeps the list with the higher version.
 * 2. Submissions to another process: Redis publishes each change of a top ten on the board's channel, and the other process answers its
 *    client once the message is written (`submit.ts`). When the message arrives, a new `Board` replaces the old one. Readers after the
 *    message then do not wait for a read from before the message, and results of reads and submissions from before the message are not
 *    cached.
 * 3. Both at once: if a message about the board arrives while a submission of this process is running, the process drops all lists that
 *    were read since the message when the submission is answered, because these lists may lack the submission's score.
 *
 * A list is cached only while the process is subscribed to the board's channel, and only if the process requested the list after the
 * subscription was confirmed. The subscription begins at the second use of a board in the cache, so a board that is used once needs no
 * subscription. If the subscription is lost, the cached list is dropped.
 *
 * Only a read makes a list fresh. If Redis answers that the version is the same, the list may still have changed: an operator may have
 * edited the data in Redis, or the catalogue of another process may have given the game the other order. Answers contain such a change
 * within `FRESH_MS`.
 */
export class BoardCache {
  /** The random name that this process publishes on the boards' channels, so that it can ignore its own messages. */
  readonly publisher = randomBytes(9).toString('base64url');
  /** The seed from which this process makes the secrets of new boards. */
  readonly seed = randomBytes(24).toString('base64url');
  /** Whether no other process submits scores to this Redis. Readers then need not wait for `heard()`. */
  readonly isAlone: boolean;
  readonly #subscriber: BoardSubscriptions;
  readonly #boards: LruCache<string, Held>;
  #turn: Promise<void> | undefined;

  /** @param subscriber receives the messages about the submissions of other processes */
  constructor(subscriber: BoardSubscriptions, isAlone: boolean) {
    this.isAlone = isAlone;
    this.#subscriber = subscriber;
    this.#boards = new LruCache(BOARDS_AT_HAND, (dropped) => {
      for (const [game, held] of dropped) this.#leave(game, held);
    });
    subscriber.on('message', (channel, publisher) => {
      if (publisher === this.publisher) return;
      const game = gameOf(channel);
      // `peek`, because submissions to other processes must not keep a board in the cache that this process does not use.
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

  /** The answer for a reader, or the promise of the answer while a read is running. Undefined: the cache has no fresh list. */
  find(game: string): Encoded | Promise<Encoded> | undefined {
    const board = this.#boards.get(game)?.board;
    if (board === undefined) return undefined;
    const now = performance.now();
    if (board.top !== undefined && now < board.top.freshUntil) return board.top.answer;
    return now < board.joinUntil ? board.reading : undefined;
  }

  /**
   * Reads the top ten for a reader. Further readers get the same answer until the list is too old.
   * @param ask sends `top.lua`, and resolves with its answer
   */
  read(game: string, order: ScoreOrder, ask: () => Promise<readonly [word: string, ...words: string[]]>): Promise<Encoded> {
    const { board, hearing } = this.#use(game);
    const freshUntil = freshUntilOf(hearing);
    // Later readers must not get the result of a finished read, because this result may be a failure, or a list that is older than the
    // cached list.
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
   * Begins a call whose answer contains the list: a submission, or a read of an account's own entry. To be called before the script is
   * sent.
   * @param isApart whether the script is sent on another connection than reads of lists, so that its answer may overtake their answers
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
      // If this process was subscribed during the whole call, the script counted it among the listeners. If the subscription was confirmed
      // or lost during the call, it is not known whether the script counted this process.
      others: (listeners) => listeners - (isCounted && held.hearing === hearing ? 1 : 0),
      listOf: (words) => {
        if (known !== undefined && words[2] === known.version) return known.list;
        const read = topOf(game, order, words, freshUntil);
        const present = this.#boards.peek(game);
        if (present?.board === board) {
          // A read that is still running may have run in Redis before this script, so further readers must not get its result.
          if (isApart) present.board = new Board(board.top);
          if (!isOlder(read, board.top)) present.board.top = read;
        } else if (present !== undefined) present.board = new Board();
        return read.list;
      },
    };
  }

  /**
   * Resolves at the end of this turn of the event loop, when the process has handled all data that had arrived at the start of the turn. A
   * reader has to wait for this, because in one turn the message about an earlier submission may be handled after the reader's request,
   * although it arrived before.
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

  /** Whether this process's subscription to the board's channel is confirmed. */
  hears(game: string): boolean {
    return this.#boards.peek(game)?.hearing.state === 'confirmed';
  }

  /**
   * Makes the readers of this turn of the event loop share one read of a board that is not cached yet, so that not each of many readers
   * reads the board. The read is sent at the end of the turn (`ScriptBatches`), so its list includes all submissions that were answered
   * before the requests of these readers.
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
      // Redis is down, or the board's slot is being moved to another primary. The next use of the board subscribes again.
      hearing.state = 'none';
    }
  }

  #leave(game: string, held: Held): void {
    const { state } = held.hearing;
    held.hearing = { state: 'none' };
    if (state === 'none') return;
    this.#subscriber.unsubscribe(boardKeys.channel(game)).catch(() => {
      // There is nothing to do: the connection was lost, and the subscription ended with the connection.
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

/** A running submission, or a running read of an account's own entry. */
export interface BoardCall {
  /** The version of the cached list that the answer may use, or '' if the cache has no fresh list. */
  readonly known: string;
  /**
   * The list for the answer. To be called as soon as the script's answer arrives, because the cache keeps the list of the last call.
   * @param words of the script's answer: the season or '', the season's end, the version, then member, score, … best first. If the version
   * is still `known`, the words end with the version
   */
  listOf(words: readonly string[]): ListText;
  /**
   * The number of other processes that are subscribed to the board's channel. To be called as soon as the script's answer arrives.
   * @param listeners the number of subscribers of the channel that the script counted, this process included
   */
  others(listeners: number): number;
}

/** Whether a list that has just arrived is older than the cached list. */
function isOlder(read: Top, cached: Top | undefined): boolean {
  // The versions are compared only while the cached list is fresh. If Redis loses the counter of versions, new lists have lower versions.
  return cached !== undefined && performance.now() < cached.freshUntil && Number(read.version) < Number(cached.version);
}

/** The time until which a list that is requested now is fresh. 0: the list must not be cached. */
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
