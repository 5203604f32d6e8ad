import { standingKey } from '../../accounts/account-keys.ts';
import { runWhereItIs } from '../../accounts/standing-reader.ts';
import { standingLibrary } from '../../accounts/standing.ts';
import { defineScript } from '../../redis/script.ts';
import { coinKeys, DAY_MS, entryLetters, ledgerLibrary, MIN_BALANCE } from './model.ts';
import type { OperatorEntryServices } from './operator-entry.ts';
import { partsOfTakeBackKey } from './take-back-key.ts';

const takeBackScript = defineScript({
  file: new URL('take-back.lua', import.meta.url),
  keys: ['ledger', 'standing'],
  args: ['asked', 'grantedKey', 'least', 'keyBegins', 'keyEnds', 'origin', 'onlyAsks'],
  shared: ['kept', 'secret'],
  answers: ['taken', 'replayed', 'none', 'deleted', 'moving', 'moved', 'other_data'],
  library: [standingLibrary, ledgerLibrary],
  durable: true,
});

export interface TakenGrant {
  /** The key of the grant. */
  readonly key: string;
  /** Whether the account owes coins that it has spent. If false, the account keeps a balance of 0 at least. */
  readonly intoDebt: boolean;
  /** The operator and the reason, as `originOfOperator` writes them. */
  readonly origin: string;
}

/** `accountId` is the account whose ledger has the entry: for a guest that moved, the account into which it moved. */
export type TakenBack =
  | {
      readonly word: 'taken' | 'replayed';
      readonly accountId: string;
      /** Never negative, and at most `grantedCoins`. */
      readonly takenCoins: number;
      readonly grantedCoins: number;
      /** Now, below 0 for a debt. */
      readonly balance: number;
      /** The account that was granted the coins: this one, or a guest that has moved in since. */
      readonly grantedTo: string;
    }
  /** `none`: no operator granted coins under this key, or retention has deleted the entry. */
  | { readonly word: 'none' | 'deleted'; readonly accountId: string };

/**
 * Takes back the coins that an operator granted to an account under a key, once, by an entry of type `adjust`. A banned account gives them
 * back too.
 * @param onlyAsks changes nothing
 * @throws Refusal `store_unavailable` while ledgers may not be written, or the account is moving: nothing was changed
 */
export async function takeBackGrant(
  account: string,
  { key, intoDebt, origin }: TakenGrant,
  { scripts, keySecret, coinTotals, config }: OperatorEntryServices,
  onlyAsks: boolean,
): Promise<TakenBack> {
  // The operator's tool does not read the secret at its start.
  if (!keySecret.isKnown) await keySecret.read();
  const args = {
    ...{ asked: account, grantedKey: key, least: intoDebt ? MIN_BALANCE : 0, origin, onlyAsks: onlyAsks ? '1' : '' },
    ...partsOfTakeBackKey(key),
    kept: config.LEDGER_RETENTION_DAYS * DAY_MS,
    secret: keySecret.text,
  };
  const { accountId, word, figures } = await runWhereItIs(account, scripts, (id) =>
    scripts.run(takeBackScript, { ledger: coinKeys.ledger(id), standing: standingKey(id) }, args),
  );
  if (word === 'other_data') throw keySecret.otherData();
  if (word === 'none' || word === 'deleted') return { word, accountId };
  const [taken, balance, granted, grantedTo] = figures as [string, string, string, string];
  if (word === 'taken' && !onlyAsks) coinTotals?.applied(`${entryLetters.adjust}${taken}`, Number(balance));
  return { word, accountId, takenCoins: -Number(taken), grantedCoins: Number(granted), balance: Number(balance), grantedTo };
}
