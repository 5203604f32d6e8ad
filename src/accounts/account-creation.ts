import { defineLibrary } from '../redis/script.ts';

/**
 * The Lua function with which a script creates an account. This library calls a function of `accountEvents`, so a script has to load
 * `accountEvents` first.
 */
export const accountCreation = defineLibrary(new URL('create-account.lua', import.meta.url));
