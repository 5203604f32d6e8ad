import type { Finding } from '../../consistency/auditor.ts';
import { KEY_SECRET } from './secret-keys.ts';

/** The most ledgers whose names the check keeps. If this many ledgers have another secret, the finding is certain. */
const MOST_LEDGERS = 1000;

/**
 * Decides whether the secret of the hashes of idempotency keys was replaced. If it was replaced, there is a moment before which all entries
 * of all ledgers have hashes by the old secret, and after which all have hashes by the present one. If indexes are damaged, there is no
 * such moment, because undamaged ledgers also have older entries with hashes by the present secret.
 */
export class ReplacedSecretCheck {
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

  /**
   * The finding that the secret was replaced, as soon as MOST_LEDGERS ledgers show this. If fewer ledgers show it, `found` has the finding
   * at the end of the audit.
   */
  get foundEarly(): Finding[] {
    return this.#ledgers.size < MOST_LEDGERS ? [] : this.found;
  }

  get found(): Finding[] {
    return this.#ledgers.size < 2 || this.#otherUntil > this.#presentFrom ? [] : [otherSecret()];
  }
}

/**
 * The finding that the secret was replaced. All checks that compare the secret make the same finding, so that the audit reports it once.
 */
export function otherSecret(): Finding {
  const text = 'Older entries were written with another secret, so a service would take used idempotency keys for new ones.';
  return { kind: 'changed_key_secret', subject: `key ${KEY_SECRET}`, text };
}
