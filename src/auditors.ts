import { accountAuditor } from './accounts/account-auditor.ts';
import { accountKeyPattern } from './accounts/account-keys.ts';
import type { Holding } from './accounts/holdings.ts';
import { asideAuditor } from './consistency/set-aside-keys.ts';
import type { Auditor } from './consistency/auditor.ts';
import { BACKGROUND_AUDIT_KEY } from './consistency/background.ts';
import { versionAuditor } from './consistency/data-version-auditor.ts';
import { banAuditor } from './features/bans/ban-auditor.ts';
import { deletionAuditor } from './features/deletion/deletion-auditor.ts';
import { seatAuditor } from './features/rooms/seat-auditor.ts';
import { ADDRESS_GROWTH_KEYS } from './features/coins/address-growth.ts';
import { eventAuditor } from './features/events/event-auditor.ts';
import { ledgerAuditor } from './features/coins/ledger-auditor.ts';
import { findEntries } from './features/coins/ledger-search.ts';
import { slotCopyAuditor } from './features/coins/slot-copy-auditor.ts';
import { hashReader } from './features/coins/secret-check.ts';
import { KEY_SECRET } from './features/coins/secret-keys.ts';
import { checkBought, type FindBookings } from './features/purchases/coins/booking-check.ts';
import { productPurchaseAuditor } from './features/purchases/coins/purchase-auditor.ts';
import { pairAuditor } from './features/pairing/pair-auditor.ts';
import { NumbersCheck } from './features/numbers/numbers-check.ts';
import { numbersAuditor } from './features/numbers/numbers-auditor.ts';
import { roomAuditor } from './features/rooms/room-auditor.ts';
import { webhookAuditor } from './features/webhooks/webhook-auditor.ts';
import { holdings } from './holdings.ts';
import { operatorLogAuditor } from './operator/operator-log-auditor.ts';
import { STATE_KEYS } from './operator/sign-in/console-sign-in.ts';
import { ASKING_KEYS, CONSOLE_KEYS } from './server/identity/console-sessions.ts';
import { serverKeyAuditor } from './server/identity/server-key-auditor.ts';

/** Keys whose data need not agree with other keys. So the audit checks only their type and expiry. */
const alone: Auditor = {
  keys: [
    { pattern: /^\{nonce:.*\}$/, type: 'hash', life: 'ends' },
    { pattern: /^\{providers\}$/, type: 'hash', life: 'lasts' },
    { pattern: /^\{apple:.*\}$/, type: 'hash', life: 'lasts' },
    { pattern: /^\{apple-budget:.*\}$/, type: 'string', life: 'ends' },
    { pattern: /^\{sandbox:(?:apple-)?keys\}$/, type: 'string' },
    { pattern: /^\{sandbox:(?:subscription|purchase):.*\}$/, type: 'hash' },
    { pattern: /^\{sandbox:voided:.*\}$/, type: 'zset' },
    { pattern: ADDRESS_GROWTH_KEYS, type: 'zset', life: 'ends' },
    { pattern: CONSOLE_KEYS, type: 'hash', life: 'ends' },
    { pattern: ASKING_KEYS, type: 'string', life: 'ends' },
    { pattern: STATE_KEYS, type: 'string', life: 'ends' },
    { pattern: new RegExp(`^${BACKGROUND_AUDIT_KEY}$`), type: 'hash' },
  ],
};

/**
 * The auditors of all data. Each audit makes new auditors, because some of them keep what they have read.
 * @param asksSlots as in `NumbersCheck`
 */
export function allAuditors(held: readonly Holding[] = holdings, asksSlots = true): Auditor[] {
  const hashNow = hashReader();
  const operated = new Map<string, string>();
  const numbers = new NumbersCheck(asksSlots);
  const find: FindBookings = async (owners, keys, probe) => {
    const hash = await hashNow(probe);
    return hash && findEntries(owners, keys, probe, hash);
  };
  return [
    versionAuditor(KEY_SECRET),
    slotCopyAuditor(),
    accountAuditor(held),
    deletionAuditor(held),
    banAuditor,
    ledgerAuditor(hashNow, (ledger, bought, adjusted, probe) => checkBought(ledger, bought, adjusted, probe, find), operated, numbers),
    numbersAuditor(numbers),
    productPurchaseAuditor(find),
    ...held.flatMap(({ auditors }) => auditors?.() ?? []),
    { keys: held.flatMap(({ keys = [] }) => keys.map((key) => ({ ...key, pattern: accountKeyPattern(key.name) }))) },
    pairAuditor,
    roomAuditor,
    seatAuditor,
    eventAuditor,
    webhookAuditor,
    serverKeyAuditor,
    operatorLogAuditor(operated),
    asideAuditor,
    alone,
  ];
}
