import { defineLibrary } from '../redis/script.ts';

/**
 * Lua shared by every script that adds lines to an account's field `purchases`. Moves and subscriptions both add lines, so the file lies in
 * a folder that both import.
 */
export const boundedLines = defineLibrary(new URL('bounded-lines.lua', import.meta.url));
