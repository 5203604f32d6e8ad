/**
 * The highest number of costly requests of one server key or address that may wait for their turn. Further requests are refused with
 * `rate_limited`.
 */
export const MOST_WAITING = 16;

/**
 * The shortest and the longest rest of the process after a costly request, in milliseconds. Within these bounds it rests for as long as the
 * request took, so costly requests get at most half of the process's time.
 */
const REST_MS = { least: 1, most: 50 };

/**
 * Costly requests of a process run one at a time, with pauses. Each does its work in small parts, so that other requests are served between
 * the parts. Without this, ten costly requests at once did their parts in the same turns of the event loop and in the same commands of
 * Redis, and other requests waited for more than 100 ms.
 *
 * The server keys take turns, so a key with many requests delays another key by one request only. The addresses take turns in the same way.
 * Between two requests with keys there is at most one request of an address: anybody may request an export of an account from many
 * addresses.
 */
export class CostlyWork {
  readonly #lines = { key: new Line(), address: new Line() };
  #running: CostlyTurn | undefined;
  #lastKind: Kind = 'address';
  #beganAt = 0;
  #isResting = false;

  /** @param of the id of the server key, or the address group @returns undefined if MOST_WAITING of its requests wait already */
  enter(of: string, kind: Kind): CostlyTurn | undefined {
    if (this.#lines[kind].countOf(of) >= MOST_WAITING) return undefined;
    const turn = new CostlyTurn(of, kind, this);
    this.wait(turn);
    return turn;
  }

  /** Adds a turn to those that wait. Only `CostlyTurn` calls this method. */
  wait(turn: CostlyTurn): void {
    this.#lines[turn.kind].add(turn);
    this.#next();
  }

  /** Ends a turn, whether it runs or waits. Only `CostlyTurn` calls this method. */
  leave(turn: CostlyTurn): void {
    if (turn !== this.#running) return this.#lines[turn.kind].remove(turn);
    this.#running = undefined;
    this.#isResting = true;
    const tookMs = performance.now() - this.#beganAt;
    setTimeout(
      () => {
        this.#isResting = false;
        this.#next();
      },
      Math.min(Math.max(tookMs, REST_MS.least), REST_MS.most),
    );
  }

  isRunning(turn: CostlyTurn): boolean {
    return turn === this.#running;
  }

  #next(): void {
    if (this.#running !== undefined || this.#isResting) return;
    const [preferred, fallback] = this.#lastKind === 'key' ? (['address', 'key'] as const) : (['key', 'address'] as const);
    const turn = this.#lines[preferred].next() ?? this.#lines[fallback].next();
    if (turn === undefined) return;
    this.#lastKind = turn.kind;
    this.#running = turn;
    this.#beganAt = performance.now();
    turn.run();
  }
}

type Kind = 'key' | 'address';

/** The costly requests that wait, grouped by server key or by address group. The groups take turns. */
class Line {
  readonly #waiting = new Map<string, CostlyTurn[]>();

  countOf(of: string): number {
    return this.#waiting.get(of)?.length ?? 0;
  }

  add(turn: CostlyTurn): void {
    const others = this.#waiting.get(turn.of);
    if (others === undefined) this.#waiting.set(turn.of, [turn]);
    else others.push(turn);
  }

  next(): CostlyTurn | undefined {
    const [found] = this.#waiting;
    if (found === undefined) return undefined;
    const [of, turns] = found;
    const turn = turns.shift();
    this.#waiting.delete(of);
    if (turns.length > 0) this.#waiting.set(of, turns);
    return turn;
  }

  remove(turn: CostlyTurn): void {
    const turns = this.#waiting.get(turn.of);
    const place = turns?.indexOf(turn) ?? -1;
    if (place === -1) return;
    turns!.splice(place, 1);
    if (turns!.length === 0) this.#waiting.delete(turn.of);
  }
}

/** The place of one costly request among those that wait or run. */
export class CostlyTurn {
  readonly of: string;
  readonly kind: Kind;
  readonly #work: CostlyWork;
  #begun = Promise.withResolvers<void>();

  constructor(of: string, kind: Kind, work: CostlyWork) {
    this.of = of;
    this.kind = kind;
    this.#work = work;
  }

  /** Resolves when the request may begin. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** Lets the request begin. Only `CostlyWork` calls this method. */
  run(): void {
    this.#begun.resolve();
  }

  /** Ends the turn, because the request has finished its work or will never begin it. */
  leave(): void {
    this.#work.leave(this);
  }

  /** The client has disconnected. A waiting request leaves the queue; a running request keeps its turn until its work ends. */
  gone(): void {
    if (!this.#work.isRunning(this)) this.leave();
  }

  /** Ends the turn while the request waits for news, as a long-poll does, and waits for a new turn after that. */
  async rest(wait: () => Promise<void>): Promise<void> {
    this.leave();
    await wait();
    this.#begun = Promise.withResolvers();
    this.#work.wait(this);
    await this.begun;
  }
}
