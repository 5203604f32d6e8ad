import { defineLibrary } from '../redis/script.ts';

/**
 * Lua functions for every script that adds lines to an account's field `purchases`. Moves and subscriptions both add lines, so this file is
 * in `accounts/`, which both features may import.
 */
export const boundedLines = defineLibrary(new URL('bounded-lines.lua', import.meta.url));
