/** At most one line a second for events that come in thousands. Each line counts the events since the last one. */
export class SampledLines {
  readonly #write: (line: object, counts: Record<string, number>) => void;
  readonly #counts = new Map<string, number>();
  #latest: object | undefined;
  /** On the clock of `performance.now()`. */
  #nextLineAt = 0;
  #aloneUntil = 0;
  #alone = 0;

  constructor(write: (line: object, counts: Record<string, number>) => void) {
    this.#write = write;
  }

  add(line: object, kinds: readonly string[], now: number): void {
    for (const kind of kinds) this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    this.#latest = line;
    this.sweep(now);
  }

  sweep(now: number): void {
    if (this.#latest === undefined || now < this.#nextLineAt) return;
    this.#write(this.#latest, Object.fromEntries(this.#counts));
    this.#nextLineAt = now + BETWEEN_LINES_MS;
    this.#latest = undefined;
    this.#counts.clear();
  }

  /** Whether an event may have a line of its own: MOST_ALONE of them a second. */
  mayStandAlone(now: number): boolean {
    if (now >= this.#aloneUntil) {
      this.#aloneUntil = now + BETWEEN_LINES_MS;
      this.#alone = 0;
    }
    return ++this.#alone <= MOST_ALONE;
  }
}

/** Under overload a process refuses thousands of requests a second. */
const BETWEEN_LINES_MS = 1000;

/** At the start of an outage all requests in flight fail: few on a quiet service, thousands on a busy one. */
const MOST_ALONE = 10;
