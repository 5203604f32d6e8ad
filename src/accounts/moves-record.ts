/** The move record of an account, as `prologue-check.lua` describes it. */
export interface MovesRecord {
  /** The account that this one moved into. It then has no guests. */
  readonly target: string | undefined;
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

export function parseMovesRecord(text: string): MovesRecord {
  if (text.startsWith('>')) return { target: text.slice(1), guests: [], unreadable: 0 };
  const lines = text
    .replace(/^#\d+\n/, '')
    .split('\n')
    .filter((line) => line !== FENCE);
  const last = lines.pop();
  const guests = lines.flatMap((line, index) => {
    const [, id, lastSeq, mark] = LINE.exec(line) ?? [];
    return id === undefined ? [] : [{ id, number: index + 1, lastSeq: Number(lastSeq), isFiled: mark === '=' }];
  });
  return { target: undefined, guests, unreadable: lines.length - guests.length + (last === '' ? 0 : 1) };
}
