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

/** Ends the ban of an account. Answers unbanned, not_banned, moving, moved(account that it moved into), deleted(time). */
const unbanScript = defineScript({
  name: 'accounts/unban',
  lua: `local state, detail = standing_of(standing)
    if state ~= 'open' and state ~= 'banned' then return {state, detail} end
    return {unban(standing) and 'unbanned' or 'not_banned'}`,
  keys: ['standing'],
  answers: ['unbanned', 'not_banned', 'moving', 'moved', 'deleted'],
  durable: true,
  library: [standingLibrary, standingChanges],
});

/** The name of the queue of accounts whose ban has just begun or ended, or will end at the due time (`features/bans/ban-journal.ts`). */
export const BANS_DUE = 'bans:due';

export interface BanOptions {
  /** When the ban ends, in milliseconds since 1970. If left out, the ban has no end. */
  readonly until?: number | undefined;
  /** The reason for operators, which the account's user does not see. At most MAX_REASON_LENGTH characters. */
  readonly reason?: string | undefined;
}

/**
 * Bans an account, even if the account does not exist yet, and replaces an earlier ban. From then on every process answers each call for
 * the account with 403 `account_banned`, and the account's connections in rooms lose their caller (`features/rooms/presence.ts`). The
 * account's data does not change; `features/bans/ban-journal.ts` hides its scores.
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
