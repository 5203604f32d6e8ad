import { accountCreation } from '../../accounts/account-creation.ts';
import { accountEvents } from '../../accounts/account-events.ts';
import { boundedLines } from '../../accounts/purchase-lines.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { signInLibrary } from '../../accounts/sign-ins.ts';
import { standingChanges, standingLibrary } from '../../accounts/standing.ts';
import { defineScript } from '../../redis/script.ts';
import { eraseLibrary, ledgerLibrary } from '../coins/model.ts';

/**
 * The scripts of a guest's move. Each script uses only keys of the guest (freezeGuest, readFrozenGuest, readGuestLedger, thawGuest,
 * markGuestMoved), or only keys of the account that the guest moves into (openMove, copyGuestLedger, addGuestToAccount, deleteCopy,
 * revokeMove). Each script may run several times, even in several processes at once. `./move-journal.ts` and `./finisher.ts` run the
 * scripts in the order that docs/decisions/moves-as-a-journal.md explains.
 */

const file = (name: string): URL => new URL(`${name}.lua`, import.meta.url);

export const openMove = defineScript({
  file: file('open-move'),
  keys: ['record'],
  args: ['guestId', 'keptSeconds'],
  answers: ['opened'],
  durable: true,
});

export const freezeGuest = defineScript({
  file: file('freeze-guest'),
  keys: ['account', 'ledger'],
  args: ['moveId', 'targetId', 'store', 'day', 'fromPairing', 'signInId'],
  shared: ['secret'],
  answers: ['frozen', 'movable', 'not_a_guest', 'from_pairing', 'used', 'not_its_sign_in', 'other_data'],
  durable: true,
  prologue: checksCaller,
  library: [standingChanges, signInLibrary, ledgerLibrary],
});

export const revokeMove = defineScript({ file: file('revoke-move'), keys: ['record'], args: [], answers: ['revoked'] });

export const readFrozenGuest = defineScript({
  file: file('read-frozen-guest'),
  keys: ['account', 'ledger', 'standing'],
  args: ['fields'],
  answers: ['moving', 'moved', 'still'],
  library: [standingLibrary, standingChanges, ledgerLibrary],
  readOnly: true,
});

export const readGuestLedger = defineScript({
  file: file('read-guest-ledger'),
  keys: ['ledger', 'standing'],
  args: ['moveId', 'position'],
  answers: ['entries', 'thawed'],
  library: standingChanges,
  readOnly: true,
});

export const copyGuestLedger = defineScript({
  file: file('copy-guest-ledger'),
  keys: ['record', 'staged'],
  args: ['position', 'lastSeq', 'lines', 'keptSeconds'],
  answers: ['copied', 'closed'],
  durable: true,
  library: ledgerLibrary,
});

export const addGuestToAccount = defineScript({
  file: file('add-guest-to-account'),
  keys: ['account', 'ledger', 'standing', 'credited', 'record', 'staged'],
  args: ['guestId', 'targetId', 'store', 'seq', 'entries', 'creditedToday', 'fields', 'joined', 'keptSeconds'],
  shared: ['secret'],
  answers: ['accepted', 'refused', 'void', 'incomplete', 'other_data'],
  durable: true,
  library: [standingLibrary, standingChanges, accountEvents, accountCreation, ledgerLibrary, boundedLines],
});

export const readMerged = defineScript({
  file: file('read-merged'),
  keys: ['standing'],
  args: ['moveId'],
  answers: ['merged', 'thawed'],
  library: [standingLibrary, standingChanges, signInLibrary],
  readOnly: true,
});

export const followAccount = defineScript({
  file: file('follow-account'),
  keys: ['standing'],
  args: ['from', 'to'],
  answers: ['followed', 'moving', 'other'],
  durable: true,
  library: [standingLibrary, standingChanges],
});

export const deleteCopy = defineScript({
  file: file('delete-copy'),
  keys: ['record', 'staged'],
  args: ['lastSeq', 'from'],
  answers: ['cleared', 'open'],
  durable: true,
  library: [ledgerLibrary, eraseLibrary],
});

export const thawGuest = defineScript({
  file: file('thaw-guest'),
  keys: ['standing'],
  args: ['moveId'],
  answers: ['thawed', 'gone'],
  durable: true,
  library: standingChanges,
});

export const markGuestMoved = defineScript({
  file: file('mark-guest-moved'),
  keys: ['standing'],
  args: ['moveId', 'targetId', 'names'],
  answers: ['closed', 'gone'],
  durable: true,
  library: [standingChanges, ledgerLibrary],
});
