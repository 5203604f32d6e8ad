/** Writes at most one log line a second about events that come in thousands. Each line has the number of events since the line before. */
export class SampledLines {
  readonly #write: (line: object, counts: Record<string, number>) => void;
  readonly #counts = new Map<string, number>();
  #latest: object | undefined;
  /** The earliest time of the next line, on the clock of `performance.now()`. */
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

  /** Whether an event may have a log line of its own, as the first MOST_ALONE events of each second may. */
  mayStandAlone(now: number): boolean {
    if (now >= this.#aloneUntil) {
      this.#aloneUntil = now + BETWEEN_LINES_MS;
      this.#alone = 0;
    }
    return ++this.#alone <= MOST_ALONE;
  }
}

/** The interval between two lines, in milliseconds. Under overload a process refuses thousands of requests a second. */
const BETWEEN_LINES_MS = 1000;

/**
 * The most events a second that have a line of their own. At the start of an outage all requests in flight fail: these are few on a quiet
 * service and thousands on a busy one.
 */
const MOST_ALONE = 10;
