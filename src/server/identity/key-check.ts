import type { Logger } from 'pino';
import { refuse, type Refusal } from '../../errors.ts';
import { BadKeyLog } from './bad-key-log.ts';
import { BadKey, type KeyRing } from './key-ring.ts';
import { isServerKey } from './server-key-record.ts';
import type { ServerKey } from './server-keys.ts';

/** The parts of a request that the check of server keys reads. */
export interface KeyedRequest {
  readonly bearer: string | undefined;
  readonly origin: string;
  /** The header Sec-Fetch-Site. */
  readonly fetchSite: string;
}

/** The facts about a request's route that matter for server keys. */
interface KeyedRoute {
  /** Whether the endpoint reads no key. If so, it answers even if the process has not read the server keys yet. */
  readonly isIgnored: boolean;
  /** Whether an operator typed the key into the console's page. From other pages no key is accepted. */
  readonly isTyped?: boolean;
}

/** Checks the server keys of requests and upgrades, and logs bad ones. */
export class KeyCheck {
  readonly #keys: KeyRing;
  readonly #log: BadKeyLog;

  constructor(keys: KeyRing, log: Logger) {
    this.#keys = keys;
    this.#log = new BadKeyLog(log);
  }

  /** The key of a request, or the refusal if the key is bad. Undefined for a request without a key. */
  check(
    { bearer, origin, fetchSite }: KeyedRequest,
    address: () => string,
    { isIgnored, isTyped = false }: KeyedRoute,
  ): ServerKey | Refusal | undefined {
    if (bearer === undefined || !isServerKey(bearer)) return undefined;
    if (!this.#keys.isKnown) {
      if (isIgnored) return undefined;
      return refuse('store_unavailable', { message: 'The server keys were not read yet: try again.', retryAfterMs: 1000 });
    }
    const found = this.#keys.find(bearer);
    const isBad = found instanceof BadKey;
    if (isBad) this.#log.refused(found, address, performance.now());
    // Browsers send Origin with each POST and with each request to another site. With a GET to the page's own site they send Sec-Fetch-Site
    // instead. Servers send neither Origin nor Sec-Fetch-Site: Node's fetch sends only Sec-Fetch-Mode. The answer does not tell whether the
    // key is valid.
    if (!isTyped && (origin !== '' || fetchSite !== '')) {
      if (!isBad) this.#log.cameFromBrowser(found.id, performance.now());
      return refuse('bad_key', { message: 'A server key does not belong in a browser: keep it on your server.' });
    }
    return isBad ? refuseBadKey(found) : found;
  }

  /** Writes the log lines that are due. Called every 100 ms. @param now on the clock of `performance.now()` */
  sweep(now: number): void {
    this.#log.sweep(now);
  }

  close(): void {
    this.#log.close();
  }
}

export function refuseBadKey({ problem }: BadKey): Refusal {
  return refuse('bad_key', MESSAGES[problem]);
}

/** The message for each problem of a key. Only a client with the right secret learns that the key has expired or was revoked. */
const MESSAGES = {
  malformed: {},
  unknown: {},
  wrong_secret: {},
  expired: { message: 'This server key has expired.' },
  revoked: { message: 'This server key was revoked.' },
} as const;
