import type { Logger } from 'pino';
import { LruCache } from '../lru-cache.ts';
import type { Origins } from './origin.ts';

/**
 * Logs each web origin whose pages are refused, once, with the setting that would allow it. The page's developer cannot see the reason
 * otherwise, because the browser hides the answer from a page of another origin.
 */
export class RefusedOrigins {
  readonly #origins: Origins;
  readonly #log: Logger;
  readonly #monotonic: () => number;
  readonly #logged = new LruCache<string, true>(REMEMBERED);
  #minute = 0;
  #left = LINES_PER_MINUTE;

  /** @param monotonic a monotonic clock, in milliseconds */
  constructor(origins: Origins, log: Logger, monotonic: () => number) {
    this.#origins = origins;
    this.#log = log;
    this.#monotonic = monotonic;
  }

  /**
   * Logs the origin of a request if the origin is refused and was not logged yet. Called after the answer to each request with an Origin
   * header.
   */
  answered({ origin, host }: { readonly origin: string; readonly host: string }): void {
    if (origin.length > MAX_LENGTH || this.#logged.get(origin) !== undefined || !this.#origins.isForeign(origin, host)) return;
    const reason = this.#reason(origin);
    if (reason === undefined || !this.#takeLine()) return;
    this.#logged.set(origin, true);
    this.#log.warn({ origin }, reason);
  }

  /**
   * The text of the log line. Undefined for an origin that no browser sends: its text must not get into the log, because it may contain
   * control characters.
   */
  #reason(origin: string): string | undefined {
    if (origin === 'null') return 'a page without an origin (a file, or a sandboxed frame) is refused: serve it over http';
    if (!PRINTABLE.test(origin) || !URL.canParse(origin)) return undefined;
    const { protocol, origin: spelled } = new URL(origin);
    if (protocol !== 'http:' && protocol !== 'https:')
      return 'pages of this origin are refused: only origins of http and https can be allowed';
    if (spelled !== origin) return undefined;
    return `pages of this origin are refused: ALLOWED_ORIGINS=${[origin, ...this.#origins.listed].join(',')} lets them call`;
  }

  #takeLine(): boolean {
    const minute = Math.floor(this.#monotonic() / 60_000);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#left = LINES_PER_MINUTE;
    }
    return this.#left-- > 0;
  }
}

/** The most lines a minute. Clients can send any number of origins, so only some are logged to keep the log readable. */
const LINES_PER_MINUTE = 10;

/** The most origins that are remembered as logged. They take less than half a megabyte. */
const REMEMBERED = 1000;

/** The most characters of an origin that is logged: enough for a scheme and a DNS name of 253 characters with a port. */
const MAX_LENGTH = 300;

/** Matches an origin that has no blanks, no control characters, and no text that `new URL` takes long to parse. */
const PRINTABLE = /^[a-z][a-z0-9+.-]{0,30}:\/\/[\w.:[\]-]+$/i;
