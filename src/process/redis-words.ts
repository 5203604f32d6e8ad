/** Lines that are kept: an error of Redis has at most five. */
const KEPT_LINES = 20;

/** Characters of a line that are kept. Redis's own sentences are shorter; a damaged file may show up in one. */
const LONGEST_LINE = 400;

/** `1234:M 23 Nov 2026 15:51:41.753 # ` and `1234:signal-handler (1795449097) `. */
const PREFIX = /^\d+:(?:\w \d{1,2} \w{3} \d{4} [\d:.]+ [.*#-] |signal-handler \(\d+\) )/;

/** Lines of every start and stop, and advice on the kernel's settings, which the doctor gives too. */
const ROUTINE =
  /^(?:oO0Oo?|(?:Redis|Valkey) version=|Configuration loaded|Server initialized|WARNING\b|User requested shutdown|(?:Redis|Valkey) is now ready to exit|Received SIG)/;

/** A crash report shows commands and memory, which hold players' data and secrets. Only these lines of it are kept. */
const OF_REPORT = /crashed by signal|ASSERTION FAILED|^==> |Guru Meditation/;

/** The last lines that a redis-server wrote to its standard output, without routine ones. */
export class RedisWords {
  readonly #told: (line: string) => void;
  readonly #lines: string[] = [];
  #rest = '';
  #isInReport = false;

  /** @param told is called for each line that is kept */
  constructor(told: (line: string) => void) {
    this.#told = told;
  }

  get last(): readonly string[] {
    return this.#lines;
  }

  /** Called when a server starts: the lines of an earlier one explain nothing any more. */
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
