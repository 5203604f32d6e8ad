import { defineLibrary } from '../redis/script.ts';
import { defineFormat, whole, word } from '../redis/text-format.ts';

/** The format of an entry in the list of an account's sign-ins. Times are milliseconds since 1970. */
export const signInEntry = defineFormat('sign_in', '<addedAt> <usedAt> <provider>', {
  /** When the account got the sign-in. */
  addedAt: whole,
  /** When somebody last signed in with it. */
  usedAt: whole,
  /** The provider, as account ids are computed from it (`Provider.key`). */
  provider: word,
});

/** Lua functions for scripts that read or change the sign-ins of an account. */
export const signInLibrary = defineLibrary(new URL('sign-ins.lua', import.meta.url), { formats: [signInEntry] });

/** The Redis key of the list of an account's sign-ins. */
export function signInsKey(accountId: string): string {
  return `{${accountId}}:sign-ins`;
}

/** The Redis key that marks a sign-in as ended for ever. If the user signs in again, a new account opens. */
export function endedSignInKey(signInId: string): string {
  return `{${signInId}}:sign-in:ended`;
}
