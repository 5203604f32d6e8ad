import { defineScript } from '../../redis/script.ts';

/** Tells whether the caller's session or installId opens the account, where nothing else is asked of Redis. */
export const sessionCheck = defineScript({
  file: new URL('check.lua', import.meta.url),
  keys: [],
  args: [],
  answers: ['signed_in'],
  caller: 'reads',
  readOnly: true,
});
