import { checksCaller } from '../../accounts/prologues.ts';
import { defineScript } from '../../redis/script.ts';
import { ledgerEntry } from './model.ts';

export const balanceScript = defineScript({
  file: new URL('balance.lua', import.meta.url),
  keys: ['ledger'],
  args: [],
  answers: ['balance'],
  prologue: checksCaller,
  formats: [ledgerEntry],
  readOnly: true,
});
