/** The most webhook requests that a process has under way at a time, to all endpoints together. */
export const MOST_REQUESTS = 64;

/**
 * The most requests to one endpoint at a time, each for another account. So an endpoint that takes 100 ms for a request gets 320 events a
 * second.
 */
export const MOST_OF_A_HOOK = 32;

/**
 * The most requests that begin in one turn of the event loop. It takes about 0.15 ms to sign and to send a request. If all hooks began
 * their requests in the turn in which an event comes, 50 hooks would keep other clients waiting for about 250 ms.
 */
export const MOST_A_TURN = 4;

/** If an endpoint answers within this time, in milliseconds, its hook may take more places than its share. */
const QUICK_MS = 1000;

/** Begins the next request of a hook. @returns undefined if the hook has nothing to send now */
export type Begin = () => Promise<unknown> | undefined;

/**
 * The places of a process for requests to endpoints of webhooks, shared among its hooks. Every attempt takes a place, even a repetition or
 * a probe.
 *
 * A free place goes to the waiting hook with the fewest requests under way. If several have equally few, it goes to the hook that has
 * waited longest. Each hook has an equal share of the places. An endpoint that does not answer keeps its places for ten seconds, so its
 * hook gets no more than its share. A hook whose endpoint answers quickly also takes places that other hooks leave free. For each hook
 * without a request under way, one place is kept free, so that its first request never waits for another endpoint.
 */
export class RequestPlaces {
  /** The hooks in the order of their last requests, the oldest first. */
  readonly #hooks = new Set<HookPlaces>();
  #taken = 0;
  #isPlanned = false;

  join(begin: Begin): HookPlaces {
    const hook = new HookPlaces(begin, this);
    this.#hooks.add(hook);
    return hook;
  }

  /** Removes a hook. The hook's requests that are under way keep their places until they end. */
  leave(hook: HookPlaces): void {
    this.#hooks.delete(hook);
  }

  /** Makes sure that free places are given to hooks in the next turn of the event loop. */
  plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(() => this.#giveOut());
  }

  #giveOut(): void {
    this.#isPlanned = false;
    for (let begun = 0; begun < MOST_A_TURN;) {
      const hook = this.#next();
      if (hook === undefined) return;
      if (this.#begin(hook)) begun++;
    }
    this.plan();
  }

  #next(): HookPlaces | undefined {
    let next: HookPlaces | undefined;
    let idle = 0;
    for (const { underWay } of this.#hooks) if (underWay === 0) idle++;
    for (const hook of this.#hooks)
      if (hook.isWaiting && this.#mayTake(hook, idle) && (next === undefined || hook.underWay < next.underWay)) next = hook;
    return next;
  }

  /** Whether a hook may take a place. @param idle the number of hooks without a request under way */
  #mayTake({ underWay, isQuick }: HookPlaces, idle: number): boolean {
    const free = MOST_REQUESTS - this.#taken;
    if (underWay === 0) return free > 0;
    if (free <= idle || underWay >= MOST_OF_A_HOOK) return false;
    return isQuick || underWay < Math.floor(MOST_REQUESTS / this.#hooks.size);
  }

  #begin(hook: HookPlaces): boolean {
    const beganAt = performance.now();
    const request = hook.begin();
    if (request === undefined) {
      hook.isWaiting = false;
      return false;
    }
    this.#taken++;
    hook.underWay++;
    if (this.#hooks.delete(hook)) this.#hooks.add(hook);
    const ended = (): void => {
      this.#taken--;
      hook.underWay--;
      hook.isQuick = performance.now() - beganAt < QUICK_MS;
      hook.want();
    };
    request.then(ended, ended);
    return true;
  }
}

/** The places of one hook. Only `RequestPlaces` changes its fields. */
export class HookPlaces {
  readonly begin: Begin;
  readonly #places: RequestPlaces;
  underWay = 0;
  isWaiting = false;
  isQuick = false;

  constructor(begin: Begin, places: RequestPlaces) {
    this.begin = begin;
    this.#places = places;
  }

  /** To be called when the hook may have something to send. `begin` is called once a place is free. */
  want(): void {
    this.isWaiting = true;
    this.#places.plan();
  }

  leave(): void {
    this.isWaiting = false;
    this.#places.leave(this);
  }
}
