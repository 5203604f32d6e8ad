import type { Holding } from '../../accounts/holdings.ts';
import { moveAuditor } from './move-auditor.ts';

/** The records of moves into the account, and the copies of guests' ledgers that exist during a move. */
export const guestMoveHolding = {
  name: 'guest-moves',
  keys: [
    {
      name: /move:([^:]+)/,
      type: 'string',
      life: 'ends',
      texts: {
        what: 'record of a move',
        isRight: (text) => /^(?:open \S+|refused \S+ \w+|accepted \S+ [01] -?\d+ \d+(?: -?\d+)?)$/.test(text),
        kind: 'wrong_move_record',
      },
      whenMoved: 'stays',
      whenDeleted: 'stays',
    },
    { name: /move:([^:]+):(ledger)/, type: 'list', whenMoved: 'stays', whenDeleted: 'stays' },
    { name: /move:([^:]+):(index:\d+)/, type: 'hash', whenMoved: 'stays', whenDeleted: 'stays' },
  ],
  auditors: () => [moveAuditor],
} satisfies Holding;
