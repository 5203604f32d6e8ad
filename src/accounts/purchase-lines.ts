import { defineLibrary } from '../redis/script.ts';
import { defineFormat, filled, letters, optional, rest, whole, wholeOrDash, word, type Kind } from '../redis/text-format.ts';

/** `1`, `0`, or `-`. */
const flag: Kind<string> = { js: '[01-]', lua: '[01-]', length: 1, parse: String, print: String };

/**
 * A line of an account's field `purchases`: the app store's last answer about a purchase of a subscription. `hash` is the purchase's
 * `purchaseHash`, `ends` the end of the paid time, `renews` whether the store will renew it, `checked` when the store was asked.
 */
export const purchaseLine = defineFormat('line', '<hash> <state> <ends> <renews> <checked> <product>', {
  hash: word,
  state: letters,
  ends: wholeOrDash,
  renews: flag,
  checked: whole,
  product: rest,
});

/** The data of an event `subscription.changed`. */
export const toldSubscription = defineFormat('told', '<state> <ends>[ <product>]', {
  state: letters,
  ends: wholeOrDash,
  product: optional(filled),
});

/**
 * For how many milliseconds after its end a renewing subscription still gives access while the app store has not been asked again. The
 * check that asks the store may be late, and the store may be down. A late check or a store that is down must not lock out a user who goes
 * on paying. Within a day the service or the store works again, or an operator has seen the alarm. A user whose renewal failed gains a day
 * at most.
 */
export const RENEWAL_LEEWAY_MS = 24 * 3_600_000;

/**
 * For how many milliseconds after its end a renewing subscription still gives access if the app store was asked after that end and answered
 * active. The store renews at about that moment, and clocks differ.
 */
export const RENEWAL_MOMENT_MS = 2 * 60_000;

/**
 * Lua functions for every script that adds lines to an account's field `purchases`. Moves and subscriptions both add lines, so this file is
 * in `accounts/`, which both features may import.
 */
export const boundedLines = defineLibrary(new URL('purchase-lines.lua', import.meta.url), {
  formats: [purchaseLine, toldSubscription],
  constants: { RENEWAL_LEEWAY_MS, RENEWAL_MOMENT_MS },
});
