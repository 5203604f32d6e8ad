import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { Transaction } from './transactions.ts';

const newestKey = (soldId: string): string => `{apple:${soldId}}`;

/** Keeps what Apple has signed about a purchase, unless something newer is known. Answers newest(the newest that is known). */
const keepScript = defineScript({
  name: 'apple/keep-newest',
  lua: `local known = redis.call('HMGET', newest, 'transaction', 'bought', 'signed')
    local known_bought, known_signed = tonumber(known[2] or -1), tonumber(known[3] or -1)
    if known_bought > tonumber(bought) or (known_bought == tonumber(bought) and known_signed > tonumber(signed)) then
      return {'newest', known[1]}
    end
    redis.call('HSET', newest, 'transaction', transaction, 'bought', bought, 'signed', signed)
    return {'newest', transaction}`,
  keys: ['newest'],
  args: ['transaction', 'bought', 'signed'],
  answers: ['newest'],
  durable: true,
});

const readScript = defineScript({
  name: 'apple/read-newest',
  lua: `return {'newest', redis.call('HGET', newest, 'transaction') or ''}`,
  keys: ['newest'],
  args: [],
  answers: ['newest'],
  readOnly: true,
});

/**
 * The newest that Apple has signed about each purchase. A text says how a purchase was when it was signed, and its owner may send it again
 * at any time: an older text must not undo a refund that a newer one told of. A subscription's newest transaction is the one bought last.
 */
export class NewestTransactions {
  readonly #scripts: ScriptRunner;

  constructor(scripts: ScriptRunner) {
    this.#scripts = scripts;
  }

  /** Keeps a verified transaction. @returns the newest of the purchase */
  async keep(soldId: string, transaction: Transaction): Promise<Transaction> {
    const { purchaseDate, signedDate } = transaction;
    const said = { transaction: JSON.stringify(transaction), bought: purchaseDate, signed: signedDate };
    const [, newest] = await this.#scripts.run(keepScript, { newest: newestKey(soldId) }, said);
    return Transaction.parse(JSON.parse(newest!));
  }

  /** @returns undefined: no text about the purchase has arrived */
  async find(soldId: string): Promise<Transaction | undefined> {
    const [, newest = ''] = await this.#scripts.run(readScript, { newest: newestKey(soldId) }, {});
    return newest === '' ? undefined : Transaction.parse(JSON.parse(newest));
  }
}
