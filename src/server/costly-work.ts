/** Most costly requests of one key or address that may wait for their turn. Further ones are refused. */
export const MOST_WAITING = 16;

/**
 * After a costly request the process rests for as long as the request took, within these bounds, in milliseconds. So costly requests get half
 * of the process's time at most.
 */
const REST_MS = { least: 1, most: 50 };

/**
 * Costly requests of a process run one at a time, with pauses. Each does its work in small parts, so that other requests are served in
 * between. But the parts of ten requests at once came in the same turns of the event loop, and in the same commands of Redis: others then
 * waited for more than 100 ms.
 *
 * The keys take turns, so that a key with many requests delays another key by one request only. So do the addresses, and a key waits for one
 * address only: anybody may have an account exported, from as many addresses as they have.
 */
export class CostlyWork {
  readonly #lines = { key: new Line(), address: new Line() };
  #running: CostlyTurn | undefined;
  #lastKind: Kind = 'address';
  #beganAt = 0;
  #isResting = false;

  /** @param of the server key or the address group @returns undefined if too many of its requests wait already */
  enter(of: string, kind: Kind): CostlyTurn | undefined {
    if (this.#lines[kind].countOf(of) >= MOST_WAITING) return undefined;
    const turn = new CostlyTurn(of, kind, this);
    this.wait(turn);
    return turn;
  }

  /** Only for `CostlyTurn`. */
  wait(turn: CostlyTurn): void {
    this.#lines[turn.kind].add(turn);
    this.#next();
  }

  /** Only for `CostlyTurn`. */
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

/** Requests that wait, by key or by address group, in the order of their turns. */
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

/** The turn of one costly request. */
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

  /** Only for `CostlyWork`. */
  run(): void {
    this.#begun.resolve();
  }

  /** The work has ended, or will never begin. */
  leave(): void {
    this.#work.leave(this);
  }

  /** The client has gone. Work that has begun keeps its turn until it ends. */
  gone(): void {
    if (!this.#work.isRunning(this)) this.leave();
  }

  /** Leaves the turn to others while the request only waits, as a long-poll does. */
  async rest(wait: () => Promise<void>): Promise<void> {
    this.leave();
    await wait();
    this.#begun = Promise.withResolvers();
    this.#work.wait(this);
    await this.begun;
  }
}
