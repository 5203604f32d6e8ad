import { accountEvents } from './account-events.ts';
import { standingChanges, standingLibrary } from './standing.ts';
import { defineScript } from '../redis/script.ts';
import type { CallerScripts } from './caller-scripts.ts';
import { standingKey } from './account-keys.ts';
import { MAX_REASON_LENGTH } from './plain-text.ts';
import { runWhereItIs, type ActedOn } from './standing-reader.ts';

const banScript = defineScript({
  file: new URL('ban.lua', import.meta.url),
  keys: ['standing'],
  args: ['banEnd', 'since', 'reason'],
  answers: ['banned', 'moving', 'moved', 'deleted'],
  durable: true,
  library: [standingLibrary, standingChanges, accountEvents],
});

const unbanScript = defineScript({
  file: new URL('unban.lua', import.meta.url),
  keys: ['standing'],
  args: [],
  answers: ['unbanned', 'not_banned', 'moving', 'moved', 'deleted'],
  durable: true,
  library: [standingLibrary, standingChanges],
});

/** The queue of accounts with a ban that has just begun or ended, or that will end at the due time (`features/bans/ban-journal.ts`). */
export const BANS_DUE = 'bans:due';

export interface BanOptions {
  /** Milliseconds since 1970. Left out: the ban has no end. */
  readonly until?: number | undefined;
  /** For operators. The account does not see it. At most MAX_REASON_LENGTH characters. */
  readonly reason?: string | undefined;
}

/**
 * Bans an account, even if it does not exist yet. From then on every call that acts for it is 403 `account_banned`, on every process, and
 * its connections in rooms lose their caller (`features/rooms/presence.ts`). The account's data does not change; `Bans` hides its scores.
 * An earlier ban is replaced.
 * @throws Refusal `store_unavailable` if the account is moving for longer than a request waits
 */
export function ban(
  accountId: string,
  { until, reason = '' }: BanOptions,
  { scripts, now }: { readonly scripts: CallerScripts; readonly now: () => number },
): Promise<ActedOn<'banned' | 'deleted'>> {
  if ([...reason].length > MAX_REASON_LENGTH) throw new RangeError(`a reason has at most ${MAX_REASON_LENGTH} characters`);
  if (until !== undefined && !(Number.isSafeInteger(until) && until > 0)) throw new RangeError('the end of a ban is a time');
  const text = reason === '' ? '-' : Buffer.from(reason).toString('base64url');
  const args = { banEnd: until ?? 0, since: now(), reason: text };
  return runWhereItIs(accountId, scripts, (id) => scripts.run(banScript, { standing: standingKey(id) }, args));
}

/**
 * Ends the ban of an account.
 * @throws Refusal `store_unavailable` if the account is moving for longer than a request waits
 */
export function unban(
  accountId: string,
  { scripts }: { readonly scripts: CallerScripts },
): Promise<ActedOn<'unbanned' | 'not_banned' | 'deleted'>> {
  return runWhereItIs(accountId, scripts, (id) => scripts.run(unbanScript, { standing: standingKey(id) }, {}));
}
