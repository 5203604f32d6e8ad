import { setAside } from '../../consistency/set-aside-keys.ts';
import type { Auditor, Command, Finding, KeyCheck, Probe } from '../../consistency/auditor.ts';
import { pages } from '../../consistency/scan-pages.ts';
import { accountPatterns, missingAccount } from '../../accounts/account-auditor.ts';
import { standingKey } from '../../accounts/account-keys.ts';
import { parseStanding, type MovedGuest } from '../../accounts/standing.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { entryPages, filed, ledgerKeys, ledgerPatterns, MERGE_KEY, newestEntries } from './ledger-layout.ts';
import { coinKeys, entryLetters, filedGuest, type LedgerEntry, ledgerEntry } from './model.ts';

/**
 * The most entries that are read of a guest's small ledger that is filed with the account (`file_guest` of ledger.lua). All entries of such
 * a ledger are read, because it has at most 100 entries and the entry of the move.
 */
const FILED_ENTRIES = 200;

/** Number of guests whose ledgers are read at the same time. */
const GUESTS_AT_ONCE = 50;

/** The most attempts to check an account's guests. If a guest moves in during an attempt, the check begins again. */
const TRIES = 5;

/**
 * Checks the ledgers of guests that moved into an account: a guest's balance is 0, its coins are in the account's ledger, and the entries
 * of a small ledger are in the keys that `file_guest` of ledger.lua writes.
 */
export const guestAuditor: Auditor = {
  keys: [
    { pattern: accountPatterns.standing, check: ([id], probe) => checkGuests(id!, probe) },
    ...ledgerPatterns.filed.map((pattern): KeyCheck => ({ pattern, check: ([id], probe) => checkFiledOwner(id!, probe) })),
  ],
};

/**
 * Checks an account that has the keys that `file_guest` of ledger.lua writes for small ledgers: at least one of its guests must have a
 * small ledger. `checkGuests` checks the content of the keys.
 */
async function checkFiledOwner(id: string, probe: Probe): Promise<Finding[]> {
  const { filedKeys, filedEntries, filedGuests } = ledgerKeys;
  const keys = [filedKeys(id), filedEntries(id), filedGuests(id)];
  const [record, ...areThere] = (await probe.together(['GET', standingKey(id)], ...keys.map((key): Command => ['EXISTS', key]))) as [
    string | null,
    ...number[],
  ];
  const left = keys.filter((_, index) => areThere[index] === 1);
  if (left.length === 0 || parseStanding(record).guests.some(({ isFiled }) => isFiled)) return [];
  const lost = await missingAccount(id, probe);
  if (lost !== undefined) return [lost];
  const text = `Ledgers of guests are filed with it in ${left.join(', ')}, but its standing names no filed guest.`;
  return [{ kind: 'orphan_filed', subject: `account ${id}`, text, commands: left.flatMap(setAside) }];
}

async function checkGuests(id: string, probe: Probe): Promise<Finding[]> {
  for (let tries = 0; tries < TRIES; tries++) {
    const record = (await probe.ask('GET', standingKey(id))) as string | null;
    const { guests, deleted } = parseStanding(record);
    // After a deletion, the account's standing may still name the guests although the account's ledgers are already erased. On a Cluster
    // this can last for minutes.
    if (guests.length === 0 || deleted !== undefined) return [];
    const findings = await new GuestsCheck(id, guests, probe).run();
    if ((await probe.ask('GET', standingKey(id))) === record) return findings;
  }
  return [];
}

/**
 * Compares the ledgers of the guests that moved into an account with the account's ledger and with the keys that `file_guest` of ledger.lua
 * wrote for small ledgers. A guest's ledger no longer changes after the move.
 */
class GuestsCheck {
  readonly #id: string;
  readonly #guests: readonly MovedGuest[];
  readonly #probe: Probe;
  readonly #findings: Finding[] = [];
  /** The ids of guests that already have a finding. */
  readonly #found = new Set<string>();
  /** By the id of each guest: the coins that the guest brought into the account in its move. */
  readonly #takenOut = new Map<string, number>();
  readonly #filedEntries = new Map<string, string>();
  readonly #filedKeys = new Map<string, string>();

  constructor(id: string, guests: readonly MovedGuest[], probe: Probe) {
    this.#id = id;
    this.#guests = guests;
    this.#probe = probe;
  }

  async run(): Promise<Finding[]> {
    for (let start = 0; start < this.#guests.length; start += GUESTS_AT_ONCE) {
      const some = this.#guests.slice(start, start + GUESTS_AT_ONCE);
      const ledgers = await Promise.all(
        some.map(({ id, isFiled }) => newestEntries(this.#probe, coinKeys.guestLedger(this.#id, id), isFiled ? FILED_ENTRIES : 1)),
      );
      for (const [index, entries] of ledgers.entries()) this.#checkGuest(some[index]!, entries);
    }
    await this.#checkMerges();
    const filedGuests = this.#guests.filter(({ isFiled }) => isFiled);
    if (filedGuests.length > 0) await this.#checkFiled(filedGuests);
    return this.#findings;
  }

  #checkGuest({ id, lastSeq, number, isFiled }: MovedGuest, entries: readonly LedgerEntry[]): void {
    const last = entries.at(-1);
    if ((last?.seq ?? 0) !== lastSeq)
      this.#findOf(id, `The ledger of its guest ${id} ends with entry ${last?.seq ?? 0}, the account's standing says ${lastSeq}.`);
    if (last !== undefined && last.balance !== 0)
      this.#find('guest_balance', `The account's guest ${id} moved, but still has ${last.balance} coins.`);
    if (last?.letter === entryLetters.merge && last.key === MERGE_KEY + this.#id) this.#takenOut.set(id, -last.coins);
    if (!isFiled) return;
    // `file_guest` of ledger.lua does the same: the times of filed entries never fall, and of several equal operations with one idempotency
    // key the first is filed.
    let newest = 0;
    for (const entry of entries) {
      newest = Math.max(newest, entry.at);
      const { member, operation, line } = filed(entry, number);
      this.#filedEntries.set(member, String(newest));
      const lines = this.#filedKeys.get(entry.key) ?? '';
      if (line !== '' && !`\n${lines}`.includes(`\n${operation}`)) this.#filedKeys.set(entry.key, lines + line);
    }
  }

  /** Checks that the account's ledger has the coins that its guests brought. */
  async #checkMerges(): Promise<void> {
    const takenIn = new Map<string, number>();
    let isWhole = true;
    let isThere = false;
    for await (const { texts, isBegin } of entryPages(this.#probe, coinKeys.ledger(this.#id))) {
      const entries = texts.map(ledgerEntry.parse);
      isThere = true;
      if (isBegin && entries[0]?.seq !== 1) isWhole = false;
      for (const entry of entries) if (entry?.letter === entryLetters.merge) takenIn.set(entry.key.slice(MERGE_KEY.length), entry.coins);
    }
    const ids = new Set(this.#guests.map(({ id }) => id));
    for (const [guest, coins] of takenIn) {
      const taken = this.#takenOut.get(guest);
      if (!ids.has(guest)) this.#findOf(guest, `The account took in ${coins} coins of ${guest}, which is not among its guests.`);
      else if (taken !== coins)
        this.#findOf(guest, `The account took in ${coins} coins of its guest ${guest}, whose ledger gave ${taken ?? 0}.`);
    }
    if (!isThere && this.#takenOut.size > 0)
      return this.#find(
        'lost_ledger',
        "The account's ledger is lost, and its balance with it, although guests brought coins into the account.",
      );
    // If the ledger does not begin with entry 1, retention may have deleted the entry of the move.
    for (const [guest, coins] of isWhole ? this.#takenOut : [])
      if (!takenIn.has(guest)) this.#findOf(guest, `The account's guest ${guest} gave ${coins} coins, which its ledger did not take in.`);
  }

  async #checkFiled(guests: readonly MovedGuest[]): Promise<void> {
    const ids = new Map(guests.map(({ id, number, lastSeq }) => [String(number), filedGuest.write({ id, lastSeq })]));
    const { filedGuests, filedKeys, filedEntries } = ledgerKeys;
    this.#compare('guests', ids, await this.#scanned('HSCAN', filedGuests(this.#id)), (id, seq) => [
      'HSET',
      filedGuests(this.#id),
      id,
      seq,
    ]);
    this.#compare('keys', this.#filedKeys, await this.#scanned('HSCAN', filedKeys(this.#id)), (key, lines) => {
      return ['HSET', filedKeys(this.#id), key, lines];
    });
    this.#compare('entries', this.#filedEntries, await this.#scanned('ZSCAN', filedEntries(this.#id)), (member, at) => {
      return ['ZADD', filedEntries(this.#id), at, member];
    });
  }

  async #scanned(command: 'HSCAN' | 'ZSCAN', key: string): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for await (const fields of pages(this.#probe, command, key)) for (const [name, value] of pairsOf(fields)) found.set(name, value);
    return found;
  }

  /** @param wanted the values that the guests' ledgers give */
  #compare(what: string, wanted: Map<string, string>, found: Map<string, string>, put: (name: string, value: string) => Command): void {
    const missing = [...wanted.keys()].filter((name) => !found.has(name));
    const foreign = [...found.keys()].filter((name) => !wanted.has(name));
    const differing = [...wanted].filter(([name, value]) => found.has(name) && found.get(name) !== value).map(([name]) => name);
    const [example] = [...missing, ...foreign, ...differing];
    if (example === undefined) return;
    const figures = `${missing.length} missing, ${foreign.length} too many, ${differing.length} different`;
    const text = `The filed ${what} of its guests differ from their ledgers: ${figures}; the first is "${example}".`;
    this.#find(
      'filed_differs',
      text,
      [...missing, ...differing].slice(0, FILED_ENTRIES).map((name) => put(name, wanted.get(name)!)),
    );
  }

  /** Reports only the first finding about each guest, because further findings about the guest follow from the first. */
  #findOf(guest: string, text: string): void {
    if (!this.#found.has(guest)) this.#find('half_move', text);
    this.#found.add(guest);
  }

  #find(kind: string, text: string, commands: readonly Command[] = []): void {
    const subject = `account ${this.#id}`;
    const isCause = kind === 'half_move' || kind === 'lost_ledger';
    this.#findings.push({ kind, subject, text, commands, ...(isCause ? {} : { explainedBy: [subject] }) });
  }
}
