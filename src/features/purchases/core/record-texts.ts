import { productStates, storeStates } from '../../../stores/store.ts';

/** A time in milliseconds since 1970, or a sum of coins. A longer number is damaged: no double holds it exactly, and no date has it. */
const WHOLE = /^\d{0,15}$/;

/** Of `acknowledged`, `test` and the like. */
const FLAG = /^[01]?$/;

const oneOf = (words: readonly string[]): RegExp => new RegExp(`^(?:${words.join('|')})?$`);

/** What the fields of a record may say. '' stands for a field that is not there. Fields that are not listed may have any text. */
type FieldTexts = Readonly<Record<string, RegExp>>;

export const subscriptionTexts: FieldTexts = {
  state: oneOf(storeStates),
  expiresAt: /^(?:-|\d{0,15})$/,
  willRenew: /^[01-]?$/,
  ...Object.fromEntries(['acknowledged', 'bound', 'test'].map((name) => [name, FLAG])),
  ...Object.fromEntries(
    ['checkedAt', 'dueAt', 'noticedAt', 'hintedAt', 'boughtAt', 'faults', 'unknowns', 'revision'].map((name) => [name, WHOLE]),
  ),
};

export const coinPurchaseTexts: FieldTexts = {
  state: oneOf(productStates),
  // A store may refund a part of a unit.
  refunded: /^\d{0,15}(?:\.\d{1,15})?$/,
  ...Object.fromEntries(['finished', 'test', 'tellsRefunds'].map((name) => [name, FLAG])),
  ...Object.fromEntries(
    ['at', 'checkedAt', 'grantedAt', 'refundedAt', 'useAskedAt', 'quantity', 'unitCoins', 'entries', 'faults'].map((name) => [name, WHOLE]),
  ),
};

/** The names of the fields of a record that have another text than they may have. */
export function damagedFields(record: ReadonlyMap<string, string>, texts: FieldTexts): string[] {
  return Object.entries(texts).flatMap(([name, text]) => (text.test(record.get(name) ?? '') ? [] : [name]));
}
