import { randomBytes } from 'node:crypto';
import type { Subscriber } from '../../redis/subscriber.ts';
import type { Encoded } from '../../server/http/endpoint.ts';
import { LruCache } from '../../server/lru-cache.ts';

/** Maximum age of a cached board in milliseconds, counted from the request to Redis. */
const FRESH_MS = 100;

/** The channel on which `submit.lua` and `move-entry.lua` publish a changed board as `<publisher> <game>`; a move's publisher is `-`. */
const CHANNEL = 'boards';

/** Boards in the cache, about 1.5 KB each. Beyond that, the boards read least recently are dropped. */
const BOARDS_AT_HAND = 1000;

/** A cached top ten, or the promise of one. Every read and submission sets a new object, so `submit` detects one by identity. */
interface Shown {
  top: Encoded | Promise<Encoded> | undefined;
  freshUntil: number;
}

/**
 * Cached top tens: a process reads each board from Redis about ten times a second, however many clients ask. They are kept
 * encoded, which saves uWS 1 µs an answer (`Encoded.wire`).
 *
 * A client that submitted through this process sees the score at once. To that end a submission replaces the cached top
 * ten when it ends: with its own result if no other read or submission came in between, else with an empty entry, so that
 * the next reader asks Redis. A read that was under way meanwhile still answers the clients that wait for it, but later
 * clients do not join it, and its result is not cached.
 */
export class BoardCache {
  /** Names this process in the messages on the channel, so that it can ignore its own. */
  readonly publisher = randomBytes(9).toString('base64url');
  /** No other process submits to this Redis. A reader then answers at once, without waiting for `heard()`. */
  readonly isAlone: boolean;
  #boards = new LruCache<string, Shown>(BOARDS_AT_HAND);
  #hearsOthers = false;
  #turn: Promise<void> | undefined;

  /** @param subscriber receives other processes' submissions; while it is disconnected, nothing is cached */
  constructor(subscriber: Subscriber, isAlone: boolean) {
    this.isAlone = isAlone;
    subscriber.on('message', (channel, message) => {
      const [publisher, game] = channel === CHANNEL ? message.split(' ') : [];
      if (game !== undefined && publisher !== this.publisher) this.#clear(game);
    });
    subscriber.on('ready', () => void this.#listen(subscriber));
    subscriber.on('close', () => {
      this.#hearsOthers = false;
      this.#boards = new LruCache(BOARDS_AT_HAND);
    });
  }

  /** The top ten, or the promise of one that is being read; undefined if none is fresh enough. */
  find(game: string): Encoded | Promise<Encoded> | undefined {
    const shown = this.#boards.get(game);
    return shown !== undefined && performance.now() < shown.freshUntil ? shown.top : undefined;
  }

  /** Reads the top ten. Later readers share the result until it is too old. */
  read(game: string, ask: () => Promise<Encoded>): Promise<Encoded> {
    const shown: Shown = { top: undefined, freshUntil: this.#freshUntil() };
    const asked = ask().then(
      (top) => (shown.top = top),
      (error: unknown) => {
        // A failure is not cached: the next reader asks Redis.
        shown.freshUntil = 0;
        throw error;
      },
    );
    shown.top = asked;
    this.#boards.set(game, shown);
    return asked;
  }

  /** Runs a submission, and caches the top ten that it returns. */
  async submit<Result>(game: string, run: () => Promise<Result>, topOf: (result: Result) => Encoded): Promise<Result> {
    const before = this.#boards.get(game) ?? this.#clear(game);
    const freshUntil = this.#freshUntil();
    const result = await run();
    if (this.#boards.get(game) === before) this.#boards.set(game, { top: topOf(result), freshUntil });
    else this.#clear(game);
    return result;
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

  async #listen(subscriber: Subscriber): Promise<void> {
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

  #clear(game: string): Shown {
    const nothing: Shown = { top: undefined, freshUntil: 0 };
    this.#boards.set(game, nothing);
    return nothing;
  }
}
