import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { RenewalInfo, Transaction } from './transactions.ts';

const newestKey = (soldId: string): string => `{apple:${soldId}}`;

/**
 * Keeps a transaction that Apple has signed for a purchase, unless a newer one is known. Answers newest(the newest transaction, renewal
 * info or '').
 */
const keepScript = defineScript({
  name: 'apple/keep-newest',
  lua: `local known = redis.call('HMGET', newest, 'transaction', 'bought', 'signed', 'renewal')
    local known_bought, known_signed = tonumber(known[2] or -1), tonumber(known[3] or -1)
    if known_bought > tonumber(bought) or (known_bought == tonumber(bought) and known_signed > tonumber(signed)) then
      return {'newest', known[1], known[4] or ''}
    end
    redis.call('HSET', newest, 'transaction', transaction, 'bought', bought, 'signed', signed)
    return {'newest', transaction, known[4] or ''}`,
  keys: ['newest'],
  args: ['transaction', 'bought', 'signed'],
  answers: ['newest'],
  durable: true,
});

/** Keeps the renewal info of a subscription, unless newer info is known. Answers kept. */
const keepRenewalScript = defineScript({
  name: 'apple/keep-renewal',
  lua: `if tonumber(redis.call('HGET', newest, 'renewalSigned') or -1) <= tonumber(signed) then
      redis.call('HSET', newest, 'renewal', renewal, 'renewalSigned', signed)
    end
    return {'kept'}`,
  keys: ['newest'],
  args: ['renewal', 'signed'],
  answers: ['kept'],
  durable: true,
});

const readScript = defineScript({
  name: 'apple/read-newest',
  lua: `local known = redis.call('HMGET', newest, 'transaction', 'renewal')
    return {'newest', known[1] or '', known[2] or ''}`,
  keys: ['newest'],
  args: [],
  answers: ['newest'],
  readOnly: true,
});

export interface Newest {
  readonly transaction: Transaction;
  readonly renewal: RenewalInfo | undefined;
}

/**
 * The newest texts that Apple has signed for each purchase. A text describes a purchase at the time of its signature, and the owner may
 * send it again at any time. An older text must not undo a refund that a newer text has reported. The newest transaction of a subscription
 * is the last purchase or renewal.
 */
export class NewestTransactions {
  readonly #scripts: ScriptRunner;

  constructor(scripts: ScriptRunner) {
    this.#scripts = scripts;
  }

  /** Keeps a verified transaction. @returns the newest of the purchase */
  async keep(soldId: string, transaction: Transaction): Promise<Newest> {
    const { purchaseDate, signedDate } = transaction;
    const said = { transaction: JSON.stringify(transaction), bought: purchaseDate, signed: signedDate };
    const [, newest = '', renewal = ''] = await this.#scripts.run(keepScript, { newest: newestKey(soldId) }, said);
    return newestOf(newest, renewal)!;
  }

  async keepRenewal(soldId: string, renewal: RenewalInfo): Promise<void> {
    const said = { renewal: JSON.stringify(renewal), signed: renewal.signedDate };
    await this.#scripts.run(keepRenewalScript, { newest: newestKey(soldId) }, said);
  }

  /** @returns undefined: no text about the purchase has arrived */
  async find(soldId: string): Promise<Newest | undefined> {
    const [, transaction = '', renewal = ''] = await this.#scripts.run(readScript, { newest: newestKey(soldId) }, {});
    return newestOf(transaction, renewal);
  }
}

function newestOf(transaction: string, renewal: string): Newest | undefined {
  if (transaction === '') return undefined;
  return {
    transaction: Transaction.parse(JSON.parse(transaction)),
    renewal: renewal === '' ? undefined : RenewalInfo.parse(JSON.parse(renewal)),
  };
}
