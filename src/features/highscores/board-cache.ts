import { randomBytes } from 'node:crypto';
import type { Subscriber } from '../../redis/subscriber.ts';
import type { Encoded } from '../../server/http/endpoint.ts';
import { Recent } from '../../server/recent.ts';

/** How old a shown board may be, in milliseconds from when Redis was asked for it. */
const FRESH_MS = 100;

/** On which the submission script tells every process whose board changed: `<teller> <game>`. */
const CHANNEL = 'boards';

/** Boards kept at hand, about 1.5 KB each; less wanted ones are asked for again. */
const BOARDS_AT_HAND = 1000;

/** What a board shows, or the promise of it. Replaced as a whole, so that its identity tells whether anything changed. */
interface Shown {
  top: Encoded | Promise<Encoded> | undefined;
  freshUntil: number;
}

/**
 * Top tens at hand, encoded: however many ask, Redis is asked about ten times a second for each board.
 *
 * Who submitted through this process sees the own score at once. For that a submission's end replaces what is shown,
 * with its own top ten if nothing else came between its start and its end, and else with nothing, so that the next
 * reader asks Redis. A read that was under way meanwhile has lost its place: it still answers those who were waiting for
 * it, but later readers do not join it and its outcome is not shown to them.
 */
export class BoardCache {
  /** Names this process in what the submission script publishes. */
  readonly teller = randomBytes(9).toString('base64url');
  /** No other process submits to this Redis: there is nobody to hear of. */
  readonly isAlone: boolean;
  #boards = new Recent<string, Shown>(BOARDS_AT_HAND);
  #hearsOthers = false;
  #turn: Promise<void> | undefined;

  /** @param subscriber other processes' submissions are heard of on it, and while it is away nothing is kept at hand */
  constructor(subscriber: Subscriber, isAlone: boolean) {
    this.isAlone = isAlone;
    subscriber.on('message', (channel, message) => {
      const [teller, game] = channel === CHANNEL ? message.split(' ') : [];
      if (game !== undefined && teller !== this.teller) this.#clear(game);
    });
    subscriber.on('ready', () => void this.#listen(subscriber));
    subscriber.on('close', () => {
      this.#hearsOthers = false;
      this.#boards = new Recent(BOARDS_AT_HAND);
    });
  }

  /** The top ten if one is fresh enough; a promise while it is on its way. */
  find(game: string): Encoded | Promise<Encoded> | undefined {
    const shown = this.#boards.get(game);
    return shown !== undefined && performance.now() < shown.freshUntil ? shown.top : undefined;
  }

  /** Asks for the top ten, for everyone who wants it until it is too old. */
  read(game: string, ask: () => Promise<Encoded>): Promise<Encoded> {
    const shown: Shown = { top: undefined, freshUntil: this.#freshUntil() };
    const asked = ask().then(
      (top) => (shown.top = top),
      (error: unknown) => {
        // The next reader tries again at once.
        shown.freshUntil = 0;
        throw error;
      },
    );
    shown.top = asked;
    this.#boards.set(game, shown);
    return asked;
  }

  /** Runs a submission, and shows the top ten that it left behind. */
  async submit<Result>(game: string, run: () => Promise<Result>, topOf: (result: Result) => Encoded): Promise<Result> {
    const before = this.#boards.get(game) ?? this.#clear(game);
    const freshUntil = this.#freshUntil();
    const result = await run();
    if (this.#boards.get(game) === before) this.#boards.set(game, { top: topOf(result), freshUntil });
    else this.#clear(game);
    return result;
  }

  /**
   * Resolves within this turn of the event loop, once all that had arrived when it began was read: a submission that was
   * answered before a reader asked has been told to us by then, though perhaps not read before the reader's request.
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

  /** Whether other processes' submissions are heard of: only then boards are kept at hand. */
  get hearsOthers(): boolean {
    return this.#hearsOthers;
  }

  async #listen(subscriber: Subscriber): Promise<void> {
    try {
      await subscriber.subscribe(CHANNEL);
      this.#hearsOthers = true;
    } catch {
      // Away again: the next `ready` tries anew.
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
