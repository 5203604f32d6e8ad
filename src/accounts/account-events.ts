import { heldFields } from './fields.ts';
import { defineLibrary } from '../redis/script.ts';

/** Lua functions for scripts that emit events of an account. */
export const accountEvents = defineLibrary(new URL('account-events.lua', import.meta.url));

/** The number of the account's events other than ledger entries. In a move the guest's number is dropped: the account keeps its own. */
export const eventFields = heldFields('own', 'events');
