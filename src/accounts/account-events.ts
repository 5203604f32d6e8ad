import { heldFields } from './merge-rules.ts';
import { defineLibrary } from '../redis/script.ts';

/** Lua functions for scripts that emit events of an account, such as a ban. */
export const accountEvents = defineLibrary(new URL('account-events.lua', import.meta.url));

/**
 * The field `events` of an account: the number of the account's events that are not ledger entries. In a move the guest's number is
 * dropped, and the account keeps its own.
 */
export const eventFields = heldFields('own', 'events');
