import { heldFields } from './fields.ts';

/** Lua functions for scripts that tell events of an account. */
export const accountEvents = new URL('account-events.lua', import.meta.url);

/** The number of the account's events that are no ledger entries. A guest's goes with the guest: the account counts its own. */
export const eventFields = heldFields('own', 'events');
