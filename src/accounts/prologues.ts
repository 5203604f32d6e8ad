import { defineLibrary, definePrologue } from '../redis/script.ts';
import { accountCreation } from './account-creation.ts';
import { accountEvents } from './account-events.ts';
import { standingLibrary } from './standing.ts';

/** For scripts that act for a caller: refuses an ended session, and an account that is not open, before the script does anything. */
export const checksCaller = definePrologue({
  file: new URL('check-caller.lua', import.meta.url),
  keys: ['standing', 'signedOut'],
  args: [],
  answers: ['session_ended', 'sign_in_required', 'account_deleted', 'account_banned', 'moving'],
  library: standingLibrary,
  apart: definePrologue({
    file: new URL('check-caller-apart.lua', import.meta.url),
    keys: [],
    args: ['movedIn', 'generation'],
    answers: [],
  }),
  unchecked: definePrologue({
    file: new URL('caller-unchecked.lua', import.meta.url),
    keys: ['standing', 'signedOut'],
    args: [],
    answers: [],
    library: standingLibrary,
  }),
});

/** For scripts that may make the first write of an account: refuses as `checksCaller` does, and gives the Lua function `open_account`. */
export const opensAccount = definePrologue({
  after: checksCaller,
  file: new URL('open-account.lua', import.meta.url),
  keys: ['account'],
  args: ['creationBarred'],
  answers: ['rate_limited'],
  library: [accountEvents, accountCreation, defineLibrary(new URL('open-account-functions.lua', import.meta.url))],
  apart: definePrologue({
    after: checksCaller.apart,
    file: new URL('open-account-apart.lua', import.meta.url),
    keys: [],
    args: ['isOpen', 'creationBarred', 'proven'],
    answers: ['rate_limited'],
    library: [accountEvents, defineLibrary(new URL('open-account-apart-functions.lua', import.meta.url))],
  }),
});
