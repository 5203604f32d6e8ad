import { refuse, type Refusal } from '../errors.ts';

/** When a ban ends, in milliseconds since 1970. Undefined: it has no end. */
export interface BanEnd {
  readonly until: number | undefined;
}

/** @param text from the answer of a script: 0 for a ban without an end */
export function banEndOf(text: string): BanEnd {
  return { until: text === '0' ? undefined : Number(text) };
}

/** The refusal of a banned account. `until` is in the answer if the ban has an end. */
export function refuseBanned({ until }: BanEnd): Refusal<'account_banned'> {
  return refuse('account_banned', until === undefined ? {} : { until: new Date(until).toISOString() });
}
