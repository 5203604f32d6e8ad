/** The most lines that are kept. An error of Redis has at most five lines. */
const KEPT_LINES = 20;

/** The most characters of a line that are kept. Redis's own sentences are shorter, but a line may quote a damaged file. */
const LONGEST_LINE = 400;

/** The beginning of a line in Redis's log: `1234:M 23 Nov 2026 15:51:41.753 # ` or `1234:signal-handler (1795449097) `. */
const PREFIX = /^\d+:(?:\w \d{1,2} \w{3} \d{4} [\d:.]+ [.*#-] |signal-handler \(\d+\) )/;

/**
 * Lines that are dropped. Redis writes them at every start and stop, or they give advice on the kernel's settings that the doctor gives
 * too.
 */
const ROUTINE =
  /^(?:oO0Oo?|(?:Redis|Valkey) version=|Configuration loaded|Server initialized|WARNING\b|User requested shutdown|(?:Redis|Valkey) is now ready to exit|Received SIG)/;

/** The lines of a crash report that are kept. The other lines show commands and memory, which contain players' data and secrets. */
const OF_REPORT = /crashed by signal|ASSERTION FAILED|^==> |Guru Meditation/;

/** The last lines that a redis-server wrote to its standard output, without the lines of ROUTINE. */
export class RedisOutput {
  readonly #told: (line: string) => void;
  readonly #lines: string[] = [];
  #rest = '';
  #isInReport = false;

  /** @param told called for each line that is kept */
  constructor(told: (line: string) => void) {
    this.#told = told;
  }

  get last(): readonly string[] {
    return this.#lines;
  }

  /** Drops all lines. Must be called when a server starts, because the lines of the earlier server explain nothing about it. */
  begin(): void {
    this.#lines.length = 0;
    this.#rest = '';
    this.#isInReport = false;
  }

  /** @param text the next piece of the output */
  take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()!.slice(0, LONGEST_LINE);
    for (const line of lines) this.#takeLine(line.replace(PREFIX, '').trim().slice(0, LONGEST_LINE));
  }

  #takeLine(line: string): void {
    if (line.includes('BUG REPORT START')) this.#isInReport = true;
    if (line === '' || ROUTINE.test(line) || (this.#isInReport && !OF_REPORT.test(line))) return;
    this.#lines.push(line);
    if (this.#lines.length > KEPT_LINES) this.#lines.shift();
    this.#told(line);
  }
}
