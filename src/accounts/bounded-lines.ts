/**
 * Lua shared by every script that adds lines to an account's field `purchases`. A move adds them too, and the subscriptions know the app
 * store's sign-in: so the file lies below both.
 */
export const boundedLines = new URL('bounded-lines.lua', import.meta.url);
