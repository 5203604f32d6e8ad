import { checksCaller } from '../../accounts/prologues.ts';
import { defineScript } from '../../redis/script.ts';
import { ledgerEntry } from './model.ts';

/** Reads the balance, which the last ledger entry holds. Answers balance(coins, below 0 for a debt). */
export const balanceScript = defineScript({
  name: 'coins/balance',
  lua: `local last = redis.call('LINDEX', ledger, -1)
    return {'balance', last and string.match(last, '<entry: balance>') or '0'}`,
  keys: ['ledger'],
  answers: ['balance'],
  prologue: checksCaller,
  formats: [ledgerEntry],
  readOnly: true,
});
