import type { Finding } from '../../consistency/auditor.ts';
import { KEY_SECRET } from './secret-keys.ts';

/** The most ledgers whose names the check keeps. So many ledgers with another secret make the finding certain. */
const MOST_LEDGERS = 1000;

/**
 * Decides whether the secret of the hashes of idempotency keys was replaced. If it was, each ledger's entries up to one moment have hashes
 * by the old secret, and later entries have hashes by the present one. Damage to indexes looks different: undamaged ledgers have older
 * entries under hashes of the present secret.
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
   * The finding that the secret was replaced, once MOST_LEDGERS ledgers show it. With fewer ledgers, `found` has the finding at the end.
   */
  get foundEarly(): Finding[] {
    return this.#ledgers.size < MOST_LEDGERS ? [] : this.found;
  }

  get found(): Finding[] {
    return this.#ledgers.size < 2 || this.#otherUntil > this.#presentFrom ? [] : [otherSecret()];
  }
}

/** The finding that the secret was replaced. It is the same wherever the secret is compared, so that the audit reports it once. */
export function otherSecret(): Finding {
  const text = 'Older entries were written with another secret: a service would take used idempotency keys for new ones.';
  return { kind: 'changed_key_secret', subject: `key ${KEY_SECRET}`, text };
}
