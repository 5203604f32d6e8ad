import { refuse, type Refusal } from '../errors.ts';

/** When a ban ends. */
export interface BanEnd {
  readonly until: number | undefined;
}

/** @param text the end of a ban in the answer of a script: milliseconds since 1970, or 0 for a ban without an end */
export function banEndOf(text: string): BanEnd {
  return { until: text === '0' ? undefined : Number(text) };
}

/** The refusal of a banned account. The reply has `until` if the ban has an end. */
export function refuseBanned({ until }: BanEnd): Refusal<'account_banned'> {
  return refuse('account_banned', until === undefined ? {} : { until: new Date(until).toISOString() });
}
