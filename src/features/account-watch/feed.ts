import type { Logger } from 'pino';
import { accountKey } from '../../accounts/account-keys.ts';
import { SessionEnded, type CallerScripts } from '../../accounts/caller-scripts.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import type { Config } from '../../config.ts';
import { Refusal } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import type { Feed, Fetched, State } from '../../server/live/feed-types.ts';
import { invalidBearer } from '../../server/http/error-answer.ts';
import { coinKeys, ledgerEntry, shownBalance } from '../coins/model.ts';
import { entitlementFactsOf, entitlementFields, entitlementOf, nextChangeOf } from '../entitlement/model.ts';
import type { WatchingCaller, WatchingCallers } from './callers.ts';

const readAccount = defineScript({
  file: new URL('read-watched-account.lua', import.meta.url),
  keys: ['ledger', 'account'],
  args: ['fields'],
  answers: ['account'],
  prologue: checksCaller,
  formats: [ledgerEntry],
  readOnly: true,
  tracked: true,
});

/**
 * The fewest milliseconds between two pushes of an account's state. No change waits longer for its push. A new watcher also gets the state
 * at once, so a connection gets four pushes a second at most.
 */
const PUSH_INTERVAL_MS = 340;

/** A caller whose check fails with one of these error codes may not watch the account any more. */
const ENDED: ReadonlySet<string> = new Set(['session_required', 'sign_in_required', 'account_banned', 'account_deleted']);

/**
 * The number of states that this process has made. The newest state has this number as its version, so the versions that a connection gets
 * rise, even after it has changed to another account.
 */
let versions = 0;

export interface AccountFeedOptions {
  readonly scripts: CallerScripts;
  readonly callers: WatchingCallers;
  readonly config: Config;
  readonly log: Logger;
  readonly now: () => number;
}

/** What the watchers of an account see. */
class AccountState implements State {
  readonly position = ++versions;
  readonly stamp = '';
  readonly privateAt = 0;
  readonly isFinal = false;
  readonly changesAt: number;
  /** The message without its version. */
  readonly #text: string;

  constructor(message: object, changesAt: number) {
    this.#text = JSON.stringify(message);
    this.changesAt = changesAt;
  }

  equals(known: State): boolean {
    return known instanceof AccountState && known.#text === this.#text && known.changesAt === this.changesAt;
  }

  encode(): string {
    return `${this.#text.slice(0, -1)},"version":${this.position}}`;
  }
}

/**
 * The feed of accounts. The feed reads an account once for each session that watches the account, with a script that also checks the
 * session. Redis reports a change of each key of the script: the ledger, the account, its standing, and the key that marks the session as
 * signed out.
 */
export function accountFeed({ scripts, callers, config, log, now }: AccountFeedOptions): Feed {
  const stateOf = (accountId: string, [balance = '0', ...values]: readonly string[]): AccountState => {
    const fields = Object.fromEntries(entitlementFields.map((field, index) => [field, values[index] ?? '']));
    const facts = entitlementFactsOf(fields as Record<(typeof entitlementFields)[number], string>, config.SUBSCRIPTION_REPORTS);
    const at = now();
    const { state, access, expiresAt } = entitlementOf(facts, at, config.TRIAL_DAYS);
    const message = { type: 'account', accountId, ...shownBalance(Number(balance)), entitlement: { state, access, expiresAt } };
    return new AccountState(message, nextChangeOf(facts, at, config.TRIAL_DAYS));
  };

  /** Reads the account for the callers of one session. Undefined if these callers may no longer watch the account. */
  const read = async (accountId: string, ofSession: readonly WatchingCaller[]): Promise<readonly string[] | undefined> => {
    callers.reads++;
    try {
      const keys = { ledger: coinKeys.ledger(accountId), account: accountKey(accountId) };
      const [, ...found] = await scripts.runAs(ofSession[0]!.caller, readAccount, keys, { fields: entitlementFields.join(' ') });
      for (const one of ofSession) one.isChecked = true;
      return found;
    } catch (error) {
      const reason = error instanceof SessionEnded ? invalidBearer() : error;
      if (!(reason instanceof Refusal && ENDED.has(reason.code))) throw error;
      for (const { lost } of ofSession) lost(reason);
      return undefined;
    }
  };

  const fetch = async (accountId: string, isKnown: boolean): Promise<Fetched | undefined> => {
    try {
      const reads = await Promise.all(callers.of(accountId).map((ofSession) => read(accountId, ofSession)));
      const found = reads.find((answer) => answer !== undefined);
      if (found !== undefined) return { state: stateOf(accountId, found), relayed: 0 };
    } catch (error) {
      if (!isKnown) throw error;
      // No retry is needed here: `WatchedTopics` reads the account again after a few seconds.
      log.debug({ reason: (error as Error).message }, 'could not read a watched account');
    }
    return isKnown ? { state: 'same', relayed: 0 } : undefined;
  };

  return {
    isTracked: true,
    pushIntervalMs: PUSH_INTERVAL_MS,
    channel: (accountId) => `{${accountId}}`,
    take: () => undefined,
    fetch: (watched) => Promise.all(watched.map(({ id, state }) => fetch(id, state !== undefined))),
  };
}
