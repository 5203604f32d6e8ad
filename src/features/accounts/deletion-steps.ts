import { standingChanges, standingLibrary } from '../../accounts/standing.ts';
import { defineScript } from '../../redis/script.ts';

/** The steps of a deletion behind the mark (`accounts/tombstones.ts`). Each may be repeated. `deletions.ts` puts them together. */

export const readDeletion = defineScript({
  file: new URL('read-deletion.lua', import.meta.url),
  keys: ['standing'],
  args: [],
  answers: ['left', 'closed', 'none'],
  library: [standingLibrary, standingChanges],
  readOnly: true,
});

export const eraseAccount = defineScript({
  file: new URL('erase-account.lua', import.meta.url),
  keys: ['standing'],
  args: ['names', 'lastNames', 'isLast'],
  answers: ['erased', 'closed', 'not_deleted'],
  library: [standingLibrary, standingChanges],
  durable: true,
});
