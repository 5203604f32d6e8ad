import { accountAuditor } from './accounts/audit.ts';
import type { Auditor } from './consistency/auditor.ts';
import { BACKGROUND_AUDIT_KEY } from './consistency/background.ts';
import { versionAuditor } from './consistency/version.ts';
import { deletionAuditor } from './features/accounts/audit.ts';
import { ADDRESS_GROWTH_KEYS } from './features/coins/address-growth.ts';
import { guestAuditor } from './features/coins/audit-guests.ts';
import { markAuditor } from './features/coins/audit-marks.ts';
import { ledgerAuditor } from './features/coins/audit.ts';
import { KEY_SECRET, OLD_KEY_SECRET } from './features/coins/secret-keys.ts';
import { boardAuditor } from './features/highscores/audit.ts';
import { roomAuditor } from './features/rooms/audit.ts';
import { moveQueueAuditor } from './features/store/audit.ts';
import { purchaseLineAuditor } from './features/subscription/audit-lines.ts';
import { purchaseAuditor } from './features/subscription/audit.ts';
import { operatorLogAuditor } from './operator/audit.ts';
import { serverKeyAuditor } from './server/identity/audit-server-keys.ts';

/** Keys that stand alone: no other key has to agree with them. */
const alone: Auditor = {
  keys: [
    { pattern: /^\{pair:.*\}$/ },
    { pattern: /^\{device:.*\}$/ },
    { pattern: /^\{sandbox:.*\}$/ },
    { pattern: ADDRESS_GROWTH_KEYS },
    { pattern: new RegExp(`^${BACKGROUND_AUDIT_KEY}$`) },
  ],
};

/** The checks of all data, for one audit. */
export function allAuditors(): Auditor[] {
  return [
    versionAuditor([KEY_SECRET, OLD_KEY_SECRET]),
    ledgerAuditor(),
    markAuditor(),
    accountAuditor,
    deletionAuditor,
    guestAuditor,
    boardAuditor,
    moveQueueAuditor,
    purchaseAuditor,
    purchaseLineAuditor,
    roomAuditor,
    serverKeyAuditor,
    operatorLogAuditor,
    alone,
  ];
}
