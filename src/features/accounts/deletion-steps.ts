import { defineScript } from '../../redis/script.ts';

/** The steps of a deletion behind the mark (`accounts/tombstones.ts`). Each may be repeated. `deletions.ts` puts them together. */

export const readDeletion = defineScript({
  file: new URL('read-deletion.lua', import.meta.url),
  keys: ['moves'],
  args: [],
  answers: ['left', 'closed', 'none'],
  readOnly: true,
});

export const eraseAccount = defineScript({
  file: new URL('erase-account.lua', import.meta.url),
  keys: ['moves'],
  args: ['names', 'lastNames', 'isLast'],
  answers: ['erased', 'closed', 'not_deleted'],
  durable: true,
});
