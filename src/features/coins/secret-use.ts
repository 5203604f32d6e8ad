import type { Finding } from '../../consistency/auditor.ts';
import { KEY_SECRET } from './secret-keys.ts';

/** Most ledgers that the check remembers by name. */
const MOST_LEDGERS = 1000;

/**
 * Decides whether the secret of the ledgers was replaced by another one. Then all ledgers have entries up to one moment under hashes of the
 * other secret, and entries after it under their own. A damaged index does not look like that, because ledgers are older than the damage.
 */
export class SecretUse {
  /** The time of the oldest entry whose hash certainly comes from the present secret. */
  #presentFrom = Infinity;
  /** The time of the newest entry whose hash seems to come from another secret. */
  #otherUntil = -Infinity;
  readonly #ledgers = new Set<string>();

  wasPresent(at: number): void {
    if (at < this.#presentFrom) this.#presentFrom = at;
  }

  wasOther(ledger: string, at: number): void {
    if (at > this.#otherUntil) this.#otherUntil = at;
    if (this.#ledgers.size < MOST_LEDGERS) this.#ledgers.add(ledger);
  }

  /** The finding, as soon as enough ledgers were read to be certain. Otherwise `found` has it at the end. */
  get foundEarly(): Finding[] {
    return this.#ledgers.size < MOST_LEDGERS ? [] : this.found;
  }

  get found(): Finding[] {
    return this.#ledgers.size < 2 || this.#otherUntil > this.#presentFrom ? [] : [otherSecret()];
  }
}

/** The finding is the same wherever the secret is compared, so that the audit reports it once. */
export function otherSecret(): Finding {
  const text = 'It is another secret than that of older data: a service would take used keys for new ones.';
  return { kind: 'changed_key_secret', subject: `key ${KEY_SECRET}`, text };
}
