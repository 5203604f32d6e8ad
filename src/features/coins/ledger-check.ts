import { missingAccount } from '../../accounts/account-auditor.ts';
import { accountKey, standingKey } from '../../accounts/account-keys.ts';
import { parseStanding } from '../../accounts/standing.ts';
import type { Finding, Probe } from '../../consistency/auditor.ts';
import { ChainCheck } from './chain-check.ts';
import { FIELDS, IndexCheck } from './index-check.ts';
import type { KeyHash } from './key-hash.ts';
import { LedgerFindings } from './ledger-findings.ts';
import { bucketName, entryPages } from './ledger-layout.ts';
import { coinKeys, type CoinSums, type LedgerEntry, payoutsKey, seasonPayout } from './model.ts';
import type { ReplacedSecretCheck } from './replaced-secret-check.ts';

/**
 * Compares the ledger entries that purchases made with the records of these purchases. `adjusted` has the idempotency keys of operators'
 * entries.
 */
export type BoughtCheck = (
  ledger: { readonly accountId: string; readonly guestId: string | undefined },
  bought: readonly LedgerEntry[],
  adjusted: ReadonlySet<string>,
  probe: Probe,
) => Promise<readonly Finding[]>;

/** The parts that the checks of all ledgers of one audit share. */
export interface LedgerCheckOptions {
  /** The hash of idempotency keys. Undefined while the secret of the hashes is missing or malformed. */
  readonly hash: KeyHash | undefined;
  readonly checkBought: BoughtCheck;
  readonly use: ReplacedSecretCheck;
  /** Collects the idempotency keys of entries that operators made, each with one account that has such an entry. */
  readonly operated: Map<string, string>;
  readonly sums: CoinSums;
}

/** The most idempotency keys in `operated`. */
const MOST_OPERATED = 100_000;

/**
 * Checks one ledger.
 *
 * - The entries follow each other (`ChainCheck`).
 * - The index leads from the hash of each entry's idempotency key to the entry, and nowhere else (`IndexCheck`). For this comparison the
 *   check keeps the hash of each entry: 8 bytes an entry.
 *
 * While the check reads, the service may append entries, split buckets, and delete the oldest entries with their keys. The check
 * therefore covers the entries that exist both at its beginning and at its end. A split moves hashes only to a bucket with a higher number,
 * so the check reads the buckets in the order of their numbers.
 */
export class LedgerCheck {
  readonly #id: string;
  readonly #ledger: string;
  readonly #guest: { readonly id: string; readonly isFiled: boolean } | undefined;
  readonly #probe: Probe;
  readonly #options: LedgerCheckOptions;
  /** Findings about data other than the ledger and its index. */
  readonly #findings: Finding[] = [];
  readonly #kinds: LedgerFindings;
  readonly #chain: ChainCheck;

  /**
   * @param guest a guest of the account, to check the guest's ledger. A small ledger that is filed with the account (`file_guest` of
   * ledger.lua) has no index: `guest-auditor.ts` checks the keys that replace it.
   */
  constructor(id: string, probe: Probe, options: LedgerCheckOptions, guest?: { readonly id: string; readonly isFiled: boolean }) {
    this.#id = id;
    this.#kinds = new LedgerFindings(guest === undefined ? `account ${id}` : `guest ${guest.id} of account ${id}`);
    this.#ledger = guest === undefined ? coinKeys.ledger(id) : coinKeys.guestLedger(id, guest.id);
    this.#guest = guest;
    this.#probe = probe;
    this.#options = options;
    this.#chain = new ChainCheck(this.#ledger, options.hash, this.#kinds, probe.now());
  }

  async run(): Promise<Finding[]> {
    await this.#check();
    return [...this.#kinds.all(), ...this.#findings];
  }

  async #check(): Promise<void> {
    await this.#options.sums.begin(this.#probe);
    const pages = entryPages(this.#probe, this.#ledger);
    const [newestPage, bucket, isAccount] = await Promise.all([
      pages.next(),
      this.#probe.ask('HSCAN', bucketName(this.#ledger, 0), 0, 'COUNT', FIELDS),
      this.#probe.ask('EXISTS', accountKey(this.#id)),
    ]);
    if (newestPage.done === true) return;
    const owner = this.#guest !== undefined || isAccount === 1 ? 'there' : await this.#ownerWithoutFields();
    if (owner === 'gone') return;
    this.#chain.addPage(newestPage.value);
    let isOnePage = true;
    for await (const page of pages) {
      isOnePage = false;
      this.#chain.addPage(page);
    }
    this.#options.sums.add(this.#ledger, this.#chain.sums, this.#chain.oldestAt);
    const { count, balance, bought, adjusted, operated, keys } = this.#chain;
    for (const key of operated) if (this.#options.operated.size < MOST_OPERATED) this.#options.operated.set(key, this.#id);
    this.#probe.count('entries', count);
    if (balance < 0) this.#probe.count('coins owed', -balance);
    if (this.#guest === undefined && (await this.#isOwnerLost(owner))) return;
    await this.#checkPrizes();
    if (bought.length > 0) {
      const ledger = { accountId: this.#id, guestId: this.#guest?.id };
      this.#findings.push(...(await this.#options.checkBought(ledger, bought, adjusted, this.#probe)));
    }
    if (keys === undefined || this.#guest?.isFiled === true) return;
    // Without the secret the index cannot be checked. `ledger-auditor.ts` reports a missing secret once, and not for each ledger.
    if (this.#options.hash === undefined) return;
    // The buckets are read after the entries, so that the hash of each entry that was read is already in a bucket.
    const check = new IndexCheck(this.#ledger, keys, this.#probe, this.#kinds, this.#options.use);
    await check.run(isOnePage ? (bucket as [string, string[]]) : undefined);
  }

  /**
   * The state of an account that has a ledger but no fields:
   * - `gone`: the account was deleted, or is a guest whose move is now deleting the ledger and its index. `moveAuditor` checks that the
   *   queue of moves has the guest, and `deletionAuditor` reports data that a deletion left.
   * - `unknown`: the account has no standing (the record of moves, bans and deletions) either.
   * - `there`: the account has a standing, and no move or deletion explains the missing fields.
   */
  async #ownerWithoutFields(): Promise<'there' | 'gone' | 'unknown'> {
    const record = (await this.#probe.ask('GET', standingKey(this.#id))) as string | null;
    const { target, deleted } = parseStanding(record);
    if (target !== undefined || deleted !== undefined) return 'gone';
    return record === null ? 'unknown' : 'there';
  }

  async #isOwnerLost(owner: 'there' | 'unknown'): Promise<boolean> {
    // An account with a guest must have both fields and a standing.
    if (owner === 'there' && !this.#chain.hasMerges) return false;
    const lost = await missingAccount(this.#id, this.#probe);
    if (lost !== undefined) this.#findings.push(lost);
    return lost !== undefined;
  }

  /** Checks that each prize in the ledger has a payout in its season, unless Redis no longer has the payouts of the season. */
  async #checkPrizes(): Promise<void> {
    for (const { seq, coins, key } of this.#chain.prizes) {
      const [, game = '', season = '', playerId = ''] = key.split('·');
      const payouts = payoutsKey(game, season);
      const [isKept, text] = (await this.#probe.together(['EXISTS', payouts], ['HGET', payouts, playerId])) as [number, string | null];
      const payout = seasonPayout.parse(text ?? '');
      // While the prizes are being paid, a payout has no outcome yet.
      if (isKept === 1 && (payout?.coins !== coins || !['paid', 'deleted', undefined].includes(payout.outcome)))
        this.#findings.push({
          kind: 'prize_without_payout',
          subject: this.#kinds.subject,
          text: `Entry ${seq} is a prize of ${coins} coins, but the payout of ${key} is "${text ?? 'missing'}".`,
          explainedBy: [`season ${season} of board ${game}`],
        });
    }
  }
}
