import { defineScript } from '../../redis/script.ts';
import { erasePrelude, ledgerLibrary } from '../coins/model.ts';

/** The steps of a deletion behind the mark (`accounts/tombstones.ts`). Each may be repeated. `deletions.ts` puts them together. */

const file = (name: string): URL => new URL(`${name}.lua`, import.meta.url);

export const readDeletion = defineScript({
  file: file('read-deletion'),
  keys: ['moves'],
  args: [],
  answers: ['left', 'closed', 'none'],
  readOnly: true,
});

export const eraseLedger = defineScript({
  file: file('erase-ledger'),
  keys: ['ledger', 'moves'],
  args: ['from'],
  answers: ['erased', 'not_deleted'],
  library: ledgerLibrary,
  prelude: erasePrelude,
  durable: true,
});

export const eraseAccount = defineScript({
  file: file('erase-account'),
  keys: ['account', 'ledger', 'moves'],
  args: ['names', 'lastNames', 'isLast'],
  answers: ['erased', 'closed', 'not_deleted'],
  library: ledgerLibrary,
  durable: true,
});
