import { toldSubscription } from '../../accounts/purchase-lines.ts';
import { entryLetters, type EntryType } from '../coins/model.ts';
import { letters, UnknownEvent, type EventRecord, type EventType } from './model.ts';

const typeOfLetter = new Map(Object.entries(letters).map(([type, letter]) => [letter as string, type as EventType]));

const entryTypeOfLetter = new Map(Object.entries(entryLetters).map(([type, letter]) => [letter as string, type as EntryType]));

/**
 * Parses an entry of the log: `<letter> <id> <account or -> <number or -> <word>…`. The id begins with the microseconds since 1970, in base
 * 36. An entry of a deleted account has no words after the number.
 */
export function parseEvent(entry: string): EventRecord {
  const [letter = '', id = '', accountId = '', number = '', ...words] = entry.split(' ');
  const type = typeOfLetter.get(letter);
  if (type === undefined) throw new UnknownEvent(`the log of events has an entry of an unknown type: ${letter.slice(0, 8)}`);
  return {
    id,
    type,
    at: timeOf(id),
    ...(accountId === '-' ? {} : { accountId }),
    ...(number === '-' ? {} : { number: Number(number) }),
    data: words.length === 0 ? {} : dataOf[type](words),
  };
}

/**
 * The last second for which `timeOf` made a text, and the text. Neighbouring events share it; `toISOString` would take a third of the time
 * to read an event.
 */
let [cachedSecond, cachedText] = [Number.NaN, ''];

/** The time with which an event's id begins, to the millisecond, as ISO 8601. */
function timeOf(id: string): string {
  const milliseconds = Math.floor(parseInt(id, 36) / 1000);
  const ofSecond = milliseconds % 1000;
  if (milliseconds - ofSecond !== cachedSecond) {
    cachedSecond = milliseconds - ofSecond;
    cachedText = new Date(cachedSecond).toISOString().slice(0, -4);
  }
  return `${cachedText}${String(ofSecond).padStart(3, '0')}Z`;
}

type Words = readonly string[];

const dataOf: Record<EventType, (words: Words) => EventRecord['data']> = {
  // The words are `<seq>:<balance after> <letter of the type><coins>`.
  'coins.changed': ([entry = '', operation = '']) => {
    const [entryId = '', balance] = entry.split(':');
    return {
      entryId,
      type: entryTypeOfLetter.get(operation[0]!)!,
      coins: Number(operation.slice(1)),
      balanceAfterCoins: Number(balance),
    };
  },
  'purchase.granted': purchaseData,
  'purchase.refunded': purchaseData,
  'subscription.changed': (words) => {
    const { state, ends, product } = toldSubscription.parse(words.join(' ')) ?? { state: 'none', ends: '-', product: undefined };
    return {
      state,
      ...(product === undefined ? {} : { productId: product }),
      ...(ends === '-' ? {} : { expiresAt: new Date(ends).toISOString() }),
    };
  },
  'account.created': () => ({}),
  'account.moved': ([from = '']) => ({ from }),
  'account.merged': ([from = '']) => ({ from }),
  'account.sign_in_added': ([provider = '']) => ({ provider }),
  'account.sign_in_removed': ([provider = '']) => ({ provider }),
  'account.deleted': () => ({}),
  'account.banned': ([end = '0']) => (end === '0' ? {} : { expiresAt: new Date(Number(end)).toISOString() }),
  'pairing.claimed': ([pairingId = '']) => ({ pairingId }),
  'board.season_ended': ([game = '', season = '', entries, prizes]) => ({
    game,
    season,
    entries: Number(entries),
    prizes: Number(prizes),
  }),
};

function purchaseData([purchaseId = '', store = '', productId = '', quantity, coins]: Words): EventRecord['data'] {
  return { purchaseId, store, productId, quantity: Number(quantity), coins: Number(coins) };
}
