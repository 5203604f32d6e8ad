import { pino } from 'pino';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { CallerScripts } from '../../../src/accounts/caller-scripts.ts';
import { adjustBalance } from '../../../src/features/coins/adjustment.ts';
import { applyOperation } from '../../../src/features/coins/apply.ts';
import { Bookings } from '../../../src/features/coins/bookings.ts';
import { CoinTotals } from '../../../src/features/coins/coin-totals.ts';
import { parseEntryForOperators } from '../../../src/features/coins/history.ts';
import { KeySecret } from '../../../src/features/coins/key-secret.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { callerFrom } from '../../../src/server/identity/caller.ts';
import { Metrics } from '../../../src/server/metrics.ts';
import type { Finding } from '../../../src/consistency/auditor.ts';
import type { TestService } from '../../harness.ts';
import { testConfig } from '../../environment.ts';

/** Coin operations of a server key, of an operator and of the service itself, on the Redis of a service without HTTP. */
export interface WithOrigin {
  /** The operation of an endpoint for a request with a server key. @param keyId eight characters */
  byKey(type: 'credit' | 'purchase' | 'debit', account: Account, coins: number, key: string, keyId?: string): Promise<Outcome>;
  adjust(account: Account, coins: number, key: string, reason?: string, by?: string): Promise<Outcome>;
  readonly bookings: Bookings;
  /** The scripts of the operations. They finish no move, unless a test sets `helpMove`. */
  readonly scripts: CallerScripts;
  /** The stored entries of an account's ledger, oldest first. */
  linesOf(account: Account): Promise<string[]>;
  /** The newest entry, as operators see it. */
  newestOf(account: Account): Promise<ReturnType<typeof parseEntryForOperators>>;
}

/** Exactly one of the fields. */
export type Account = { installId: string } | { accountId: string };

/** The answer's fields, or those of the refusal. */
export type Outcome = Record<string, unknown>;

const idOf = (account: Account): string => ('accountId' in account ? account.accountId : accountIdOf(account.installId));

/** @param settings of the process that makes the entries, in addition to the service's */
export async function withOrigin(service: TestService, settings: Record<string, string> = {}): Promise<WithOrigin> {
  const { now } = service;
  const { connections, redis } = service.service;
  const keySecret = new KeySecret(connections.source, pino({ level: 'silent' }));
  await keySecret.read();
  keySecret.close();
  const scripts = new CallerScripts(connections.scripts, { now, checksTags: true });
  const config = testConfig(settings);
  const services = { scripts, config, now, keySecret };
  const linesOf = (account: Account): Promise<string[]> => redis.lrange(coinKeys.ledger(idOf(account)), 0, -1);
  return {
    bookings: new Bookings({ scripts, keySecret, coinTotals: new CoinTotals(new Metrics()), config }),
    scripts,
    linesOf,
    async byKey(type, account, coins, key, keyId = 'key00001') {
      const caller = callerFrom({ address: '127.0.0.1' }, idOf(account), undefined, undefined);
      const serverKey = { id: keyId, name: 'game server', scopes: ['coins'], role: undefined, game: undefined } as const;
      return outcomeOf(await applyOperation(type, caller, { coins, key }, services, serverKey));
    },
    async adjust(account, coins, key, reason = 'lost in an outage', by = 'ada') {
      return outcomeOf(await adjustBalance(idOf(account), { coins, key, reason, by }, services));
    },
    newestOf: async (account) => parseEntryForOperators((await linesOf(account)).at(-1)!),
  };
}

/**
 * The findings about ledgers. `Bookings` alone books coins of purchases that have no record, and `adjustBalance` alone writes nothing into
 * the operators' log, so findings of lost purchases and of missing entries of the log are left out.
 */
export function ofLedgers(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ kind }) => kind !== 'lost_purchase' && kind !== 'unlogged_change');
}

function outcomeOf(answer: object): Outcome {
  if (!(answer instanceof Error)) return { ...answer };
  const { code, details } = answer as unknown as { code: string; details: object };
  return { code, ...details };
}
