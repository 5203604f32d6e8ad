/** The move record of an account, as `prologue-check.lua` describes it. */
export interface MovesRecord {
  /** The account that this one moved into. It then has no guests. */
  readonly target: string | undefined;
  /** The move of a guest that is frozen. */
  readonly moving: { readonly moveId: string; readonly target: string } | undefined;
  readonly guests: readonly MovedGuest[];
  /** Lines that no version of the service writes. */
  readonly unreadable: number;
}

export interface MovedGuest {
  readonly id: string;
  /** 1 for the first guest that moved in. */
  readonly number: number;
  /** The seq of the last entry of its ledger, 0 without a ledger. */
  readonly lastSeq: number;
  /** Its ledger is filed with the account's. */
  readonly isFiled: boolean;
}

const LINE = /^(\S+) (\d+)(=|\*\d+)?$/;

/** The line on which a coinop of data version 1 fails (`ledger.lua`). */
const FENCE = '*';

const MOVING = /^~(\S+) (\S+) \S+ \S+\n/;

export function parseMovesRecord(text: string): MovesRecord {
  if (text.startsWith('>')) return { target: text.slice(1), moving: undefined, guests: [], unreadable: 0 };
  const [move = '', moveId, target] = MOVING.exec(text) ?? [];
  const moving = moveId === undefined ? undefined : { moveId, target: target! };
  const lines = text
    .slice(move.length)
    .replace(/^#\d+\n/, '')
    .split('\n')
    .filter((line) => line !== FENCE);
  const last = lines.pop();
  const guests = lines.flatMap((line, index) => {
    const [, id, lastSeq, mark] = LINE.exec(line) ?? [];
    return id === undefined ? [] : [{ id, number: index + 1, lastSeq: Number(lastSeq), isFiled: mark === '=' }];
  });
  return { target: undefined, moving, guests, unreadable: lines.length - guests.length + (last === '' ? 0 : 1) };
}

/** Whether the guest of this move record moved into the account, or is about to: its account may have accepted it. */
export function leadsTo(record: string | null, accountId: string): boolean {
  const { target, moving } = parseMovesRecord(record ?? '');
  return (target ?? moving?.target) === accountId;
}
