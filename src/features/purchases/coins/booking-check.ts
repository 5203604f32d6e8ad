import { standingIn } from '../../../accounts/account-auditor.ts';
import type { Command, Finding, Probe } from '../../../consistency/auditor.ts';
import { entryLetters, KEY_SECRET } from '../../coins/model.ts';
import { documentOf, purchaseKeys, undoKeyOf, type PurchaseDocument } from './model.ts';

/** The ledger entries of a purchase by their idempotency keys, as `coins/ledger-search.ts` finds them. */
export interface FoundBookings {
  readonly entries: ReadonlyMap<string, { readonly letter: string; readonly coins: number; readonly balance: number }>;
  readonly accountIds: readonly string[];
  hasAllSince(time: number): boolean;
}

/** Finds ledger entries by their idempotency keys. @returns undefined if the secret of the hashes is lost, so that no key can be found */
export type FindBookings = (owners: Iterable<string>, keys: readonly string[], probe: Probe) => Promise<FoundBookings | undefined>;

/**
 * The most ledger entries of a purchase that the audit compares with its record. A purchase has one entry, and two further entries for each
 * refund that the store reverses.
 */
const MOST_ENTRIES = 50;

/**
 * A difference of units is a finding only if it is at least this large. Smaller differences come from the rounding of fractions
 * (`purchase-coins.lua`).
 */
const LEAST_UNITS = 1e-6;

export const subjectOf = (purchaseId: string): string => `coin-purchase ${purchaseId}`;

/** Whether `documentOf` can read the record. */
export function isReadable(fields: ReadonlyMap<string, string>): boolean {
  try {
    JSON.parse(fields.get('moves') ?? '[]');
  } catch {
    return false;
  }
  return fields.has('owner') && fields.has('store') && /^\d+$/.test(fields.get('at') ?? '');
}

/**
 * The finding about a purchase without a record. Every check that misses the record makes the same finding, so that the audit reports it
 * once.
 */
export function lostPurchase(purchaseId: string): Finding {
  const text = "The purchase's record is lost, although other Redis keys name the purchase, so its coins could be granted again.";
  return { kind: 'lost_purchase', subject: subjectOf(purchaseId), text };
}

/** The ids of all accounts that the purchase belongs or belonged to. */
export function ownersOf({ owner, moves }: Pick<PurchaseDocument, 'owner' | 'moves'>): Set<string> {
  return new Set([owner, ...moves.flatMap(({ from, to }) => [from, to])]);
}

/**
 * The idempotency keys that the ledger entries of a purchase may have: entries that its record counts, and entries of finished moves to
 * other accounts.
 */
function keysOf(purchaseId: string, { store, booking, transfer, moves, entries }: PurchaseDocument) {
  const counted = Array.from({ length: entries - (booking === undefined ? 0 : 1) }, (_, index) => String(index + 1));
  const key = (type: string, number: string): string => [type, store, purchaseId, number].join('·');
  const both = (number: string) => ({ number, topup: key('topup', number), refund: key('refund', number) });
  const finished = moves.slice(0, transfer === undefined ? undefined : -1);
  return {
    counted: counted.map(both),
    moved: finished.map((move, index) => ({ ...both(`m${index + 1}`), move })),
  };
}

/**
 * Compares a purchase's record with the entries that the purchase made in ledgers. The record adds an entry to its sums only after a ledger
 * has the entry. So each entry in the sums is in a ledger, unless retention has deleted it.
 */
export async function checkBookings(purchaseId: string, fields: ReadonlyMap<string, string>, probe: Probe, find: FindBookings) {
  const document = documentOf(fields);
  const { owner, entries, at, moves } = document;
  if (owner === '-' || entries > MOST_ENTRIES) return [];
  const lastMove = moves.at(-1);
  if (lastMove !== undefined && lastMove.to !== owner) {
    const text = `The purchase's record names account ${owner}, but its last move gave it to account ${lastMove.to}.`;
    return [ofOwner(purchaseId, text, lastMove.to)];
  }
  const { counted, moved } = keysOf(purchaseId, document);
  const undo = undoKeyOf(purchaseId);
  const keys = [...[...counted, ...moved].flatMap(({ topup, refund }) => [topup, refund]), undo];
  const found = await find(ownersOf(document), keys, probe);
  if (found === undefined) return [];
  const subject = subjectOf(purchaseId);
  const explainedBy = [...found.accountIds.map((id) => `account ${id}`), `account ${owner}`, subject];
  const booked = counted.map(({ number, topup, refund }) => ({ number, entry: found.entries.get(topup) ?? found.entries.get(refund) }));
  const missing = booked.filter(({ entry }) => entry === undefined);
  if (missing.length > 0 && !found.hasAllSince(at)) return [];
  if (missing.length > 0) {
    const text = `The purchase's record counts its ledger entry ${missing[0]!.number}, but the ledger of account ${owner} does not have this entry.`;
    const causes = [...explainedBy, `key ${KEY_SECRET}`];
    return [{ kind: 'purchase_without_entry', subject, text, explainedBy: causes, commands: bookAgain(purchaseId, document, fields) }];
  }
  // The entry shows that an operator has corrected the purchase's coins, so the sums may differ.
  if (found.entries.get(undo)?.letter === entryLetters.adjust) return [];
  const sums = { granted: sumOf(booked, 'topup'), taken: 0 - sumOf(booked, 'refund') };
  const wrong = wrongFields(document, fields, sums);
  const [, text] = wrong ?? [];
  if (wrong !== undefined)
    return [{ kind: 'purchase_differs', subject, text: text!, commands: setFields(purchaseId, wrong[0]), explainedBy: [subject] }];
  return [...differsFromStore(purchaseId, document, fields), ...differsInMoves(subject, moved, found)].slice(0, 1);
}

function sumOf(booked: readonly { readonly entry: { letter: string; coins: number } | undefined }[], type: 'topup' | 'refund'): number {
  return booked.reduce((sum, { entry }) => (entry?.letter === entryLetters[type] ? sum + entry.coins : sum), 0);
}

/** The coins of some units, rounded as `coins_of` of `purchase-coins.lua` rounds them. */
const coinsOf = (units: number, unitCoins: number): number => Math.floor(units * unitCoins + 0.5);

/**
 * Compares the sums of the record with the sums of the ledger entries. The ledger is right, because the key of each entry names the
 * purchase.
 * @returns the fields as the ledger entries give them, and a sentence about the difference
 */
function wrongFields(
  { granted, taken, quantity, refunded, state }: PurchaseDocument,
  fields: ReadonlyMap<string, string>,
  sums: { readonly granted: number; readonly taken: number },
): [fields: Record<string, string | number>, text: string] | undefined {
  const number = (name: string): number => Number(fields.get(name) ?? 0);
  const [unitCoins, grantedUnits, returnedUnits] = [number('unitCoins'), number('grantedUnits'), number('returnedUnits')];
  const right: Record<string, string | number> = {};
  if (granted !== sums.granted) right['granted'] = sums.granted;
  if (taken !== sums.taken) right['taken'] = sums.taken;
  if (fields.has('unitCoins') && coinsOf(grantedUnits, unitCoins) !== sums.granted) {
    const bought = (state === 'purchased' ? quantity - refunded : 0) + returnedUnits;
    if (grantedUnits > 0 && Math.abs(bought - grantedUnits) < LEAST_UNITS) right['unitCoins'] = sums.granted / grantedUnits;
    else right['grantedUnits'] = sums.granted / unitCoins;
  }
  const names = Object.keys(right);
  const now = names.map((name) => `${name} ${fields.get(name) ?? 'nothing'}`).join(', ');
  const then = names.map((name) => `${name} ${right[name]}`).join(', ');
  const texts = names.length === 0 ? [] : [`The purchase's record has ${now}, but by its entries in the ledger it should have ${then}.`];
  const most = coinsOf(returnedUnits, Number(right['unitCoins'] ?? unitCoins));
  if (sums.taken < 0 || (fields.has('unitCoins') && sums.taken > most))
    texts.push(`The purchase's refunds took ${sums.taken} coins, but the units that were refunded had given ${most}.`);
  return texts.length === 0 ? undefined : [right, texts.join(' ')];
}

function setFields(purchaseId: string, fields: Readonly<Record<string, string | number>>): Command[] {
  const words = Object.entries(fields).flat();
  return words.length === 0 ? [] : [['HSET', purchaseKeys.purchase(purchaseId), ...words]];
}

/**
 * Commands that make the service book an entry again. The entry has the same idempotency key as before, so if a ledger has it after all,
 * nothing is booked.
 */
function bookAgain(
  purchaseId: string,
  { entries, granted, taken, booking, transfer, moves }: PurchaseDocument,
  fields: ReadonlyMap<string, string>,
): Command[] {
  // If the record counts several entries, the coins of the missing entry are not known.
  if (entries !== 1 || taken !== 0 || booking !== undefined || transfer !== undefined || moves.length > 0) return [];
  const purchase = purchaseKeys.purchase(purchaseId);
  return [
    ['HSET', purchase, 'granted', 0, 'grantedUnits', 0, 'booking', `topup ${granted} ${fields.get('grantedUnits') ?? 1}`],
    ['ZADD', purchaseKeys.due, 0, purchaseId],
  ];
}

/** Checks that the ledger entries are for the units of the store's last answer. While an entry is not booked yet, nothing is checked. */
function differsFromStore(
  purchaseId: string,
  { state, quantity, refunded, booking, transfer, tellsRefunds }: PurchaseDocument,
  fields: ReadonlyMap<string, string>,
): Finding[] {
  if (booking !== undefined || transfer !== undefined || state === 'pending' || !fields.has('unitCoins')) return [];
  const has = Number(fields.get('grantedUnits') ?? 0) - Number(fields.get('returnedUnits') ?? 0);
  const due = state === 'purchased' ? quantity - refunded : 0;
  if (Math.abs(due - has) < LEAST_UNITS) return [];
  const text = `The purchase is ${state} with ${quantity} units, ${refunded} of them refunded, but its ledger entries are for ${has}.`;
  // The next check of the purchase asks the store, and books the difference. If the store does not report the number of refunded units, its
  // answer could not correct the record.
  const commands: Command[] = tellsRefunds || refunded === 0 ? [['ZADD', purchaseKeys.due, 0, purchaseId]] : [];
  return [{ kind: 'purchase_differs', subject: subjectOf(purchaseId), text, commands }];
}

function differsInMoves(subject: string, moved: ReturnType<typeof keysOf>['moved'], { entries, hasAllSince }: FoundBookings): Finding[] {
  return moved.flatMap(({ number, topup, refund, move }) => {
    const [given, taken] = [entries.get(topup)?.coins, entries.get(refund)?.coins];
    const isWhole = hasAllSince(move.at);
    const isRight = (found: number | undefined, recorded: number): boolean => found === recorded || (found === undefined && !isWhole);
    if (
      isRight(given ?? (move.coins === 0 ? 0 : undefined), move.coins) &&
      isRight(taken ?? (isNothing(move) ? 0 : undefined), 0 - (move.taken ?? 0))
    )
      return [];
    const text = `By its record its move ${number} took ${move.taken ?? 0} coins and gave ${move.coins}, but by the ledgers it took ${0 - (taken ?? 0)} and gave ${given ?? 0}.`;
    return [{ kind: 'purchase_differs', subject, text }];
  });
}

/** Whether a move had no coins to take, because there were none or the previous owner was deleted. */
function isNothing({ coins, taken }: PurchaseDocument['moves'][number]): boolean {
  return coins === 0 || (taken ?? 0) === 0;
}

/** A ledger entry of type `topup` or `refund`, which a purchase made. */
export interface BoughtEntry {
  readonly letter: string;
  readonly coins: number;
  readonly key: string;
}

/** The number of purchases whose records one pipeline reads. */
const AT_ONCE = 100;

/**
 * Compares the entries of one ledger that come from purchases with the records of these purchases. Each purchase must have a record, and
 * the record must name the ledger's account.
 * @param undone idempotency keys of the entries by which operators have corrected the coins of purchases
 */
export async function checkBought(
  { accountId, guestId }: { readonly accountId: string; readonly guestId?: string | undefined },
  bought: readonly BoughtEntry[],
  undone: ReadonlySet<string>,
  probe: Probe,
  find: FindBookings,
): Promise<Finding[]> {
  const byPurchase = [...Map.groupBy(bought, ({ key }) => key.split('·')[2] ?? '')];
  const findings: Finding[] = [];
  for (let start = 0; start < byPurchase.length; start += AT_ONCE) {
    const part = byPurchase.slice(start, start + AT_ONCE).filter(([purchaseId]) => !undone.has(undoKeyOf(purchaseId)));
    const read = part.map(([id]): Command => ['HMGET', purchaseKeys.purchase(id), ...FIELDS]);
    const records = (await probe.together(...read)) as (string | null)[][];
    for (const [index, [purchaseId, entries]] of part.entries()) {
      const fields = new Map(records[index]!.flatMap((value, at) => (value === null ? [] : [[FIELDS[at]!, value] as const])));
      if (fields.size === 0) findings.push(lostPurchase(purchaseId));
      // `checkPurchase` reports a record that cannot be parsed.
      if (!isReadable(fields) || fields.get('owner') === '-') continue;
      const found: Bought = { accountId, guestId, purchaseId, entries, document: documentOf(fields) };
      findings.push(...(await checkOwner(found, probe, find)), ...checkNumbers(found));
    }
  }
  return findings;
}

const FIELDS = ['owner', 'moves', 'entries', 'store', 'granted', 'taken', 'at'] as const;

interface Bought {
  readonly accountId: string;
  readonly guestId: string | undefined;
  readonly purchaseId: string;
  readonly entries: readonly BoughtEntry[];
  readonly document: PurchaseDocument;
}

/**
 * Checks that the record names the account whose ledger has the entries. If only this ledger has them, the record is wrong. If the record
 * names another account whose ledger has them too, the coins were granted twice.
 */
async function checkOwner(
  { accountId, guestId, purchaseId, entries, document }: Bought,
  probe: Probe,
  find: FindBookings,
): Promise<Finding[]> {
  const owners = ownersOf(document);
  if (owners.has(accountId) || owners.has(guestId ?? accountId)) return [];
  for (const owner of owners) {
    const { target, moving, deleted } = await standingIn(owner, probe);
    // The ledger of a deleted owner is gone, so the audit cannot tell whether the owner had the entry.
    if (deleted !== undefined || (target ?? moving?.target) === accountId) return [];
  }
  const keys = entries.map(({ key }) => key);
  const found = await find(owners, keys, probe);
  const { owner } = document;
  const coins = entries.reduce((sum, entry) => sum + entry.coins, 0);
  const subject = subjectOf(purchaseId);
  if (found === undefined || keys.some((key) => found.entries.has(key))) {
    const text = `The purchase's coins were granted twice: to account ${owner}, which its record names, and again (${coins} coins) to account ${accountId}.`;
    return [{ kind: 'granted_twice', subject, text }];
  }
  const named = guestId ?? accountId;
  const text = `The purchase's record names account ${owner}, whose ledger has no entry of it, but its entry is in the ledger of account ${named}.`;
  // If the ledgers lack old entries, retention may have deleted the entry of the account that the record names.
  return [ofOwner(purchaseId, text, found.hasAllSince(document.at) ? named : undefined)];
}

/** The finding that a record names a wrong owner. @param owner the right account; undefined if the ledgers do not show it */
export function ofOwner(purchaseId: string, text: string, owner: string | undefined): Finding {
  const commands: Command[] = owner === undefined ? [] : [['HSET', purchaseKeys.purchase(purchaseId), 'owner', owner]];
  return { kind: 'wrong_owner', subject: subjectOf(purchaseId), text, commands };
}

/**
 * Checks that a ledger has no entry of the purchase with a higher number than `entries` of the record. The service raises `entries` before
 * a ledger gets an entry.
 */
function checkNumbers({ purchaseId, entries, document, accountId }: Bought): Finding[] {
  const numbers = entries.map(({ key }) => key.split('·')[3] ?? '');
  const moved = numbers.filter((number) => number.startsWith('m')).map((number) => Number(number.slice(1)));
  const counted = numbers.filter((number) => !number.startsWith('m')).map(Number);
  const [most, mostMoved] = [Math.max(0, ...counted), Math.max(0, ...moved)];
  if (most <= document.entries && mostMoved <= document.moves.length) return [];
  const what =
    most > document.entries
      ? `entry ${most}, but its record counts ${document.entries} entries`
      : `move ${mostMoved}, but its record has ${document.moves.length} moves`;
  const text = `The ledger of account ${accountId} has its ${what}: the record is an old copy, or was changed.`;
  const coins = (letter: string): number =>
    entries.reduce((sum, entry) => (entry.letter === letter && !entry.key.includes('·m') ? sum + entry.coins : sum), 0);
  const isCounted = document.granted === coins(entryLetters.topup) && document.taken === 0 - coins(entryLetters.refund);
  const commands: Command[] = isCounted && most > document.entries ? [['HSET', purchaseKeys.purchase(purchaseId), 'entries', most]] : [];
  return [{ kind: 'purchase_differs', subject: subjectOf(purchaseId), text, commands }];
}
