import { admin, call, Failed, type Answer } from './console-calls.ts';
import { button, hashOf, link, listed, operatorText, section, time, type Asked, type Part, type Shown } from './console-parts.ts';
import { found as foundAccounts } from '../../shown/shown-account.ts';
import { make } from '../../../web/browser/dom.ts';

/** The last result. The search text is not in the address, because it may be an installId, and browsers keep addresses in their history. */
let last: { readonly who: string; found: Answer } | undefined;

const NOTHING = { accounts: [], purchases: [], rooms: [], keys: [] };

async function find(who: string, cursor?: string): Promise<Answer> {
  try {
    return { ...NOTHING, ...(await call('/v1/admin/find', { body: { who, ...(cursor === undefined ? {} : { cursor }) } })) };
  } catch (error) {
    if (error instanceof Failed && error.code === 'account_not_found') return NOTHING;
    throw error;
  }
}

/**
 * Searches for an account, a purchase, a room, a player or a key by an id, a token or a name.
 * @returns the address of the only hit, or of the list of hits
 */
export async function searchFrom(typed: string): Promise<string> {
  const who = typed.trim();
  last = undefined;
  if (who === '') return hashOf([]);
  const found = await find(who);
  const { accounts, purchases, rooms, keys, nextCursor } = found;
  last = { who, found };
  if (nextCursor !== undefined || keys.length > 0) return hashOf(['found']);
  if (rooms.length === 1) return hashOf(['rooms', rooms[0].code]);
  const [{ foundBy, via } = {} as Answer] = accounts;
  // If a name only begins with the text or contains it, the operator has to decide whether it is the right player.
  if (foundBy === 'name' && via.name.toLowerCase() !== who.replace(/^name: */, '').toLowerCase()) return hashOf(['found']);
  if (accounts.length === 1) return hashOf(['accounts', accounts[0].accountId]);
  const [purchase] = purchases;
  return accounts.length === 0 && purchase?.kind === 'coins' ? hashOf(['purchases', purchase.purchase]) : hashOf(['found']);
}

/** The list of hits, if there are several hits or none. */
export async function foundView({ again }: Asked): Promise<Shown> {
  if (last === undefined)
    return { title: 'Found', parts: [make('p', { className: 'lead', textContent: 'Search again: the text that you typed is not kept.' })] };
  const { who, found } = last;
  const { accounts, purchases, rooms, keys, nextCursor } = found;
  const more = async (): Promise<void> => {
    const next = await find(who, nextCursor);
    last = { who, found: { ...next, accounts: [...accounts, ...next.accounts], purchases, rooms, keys } };
    again();
  };
  const others: Part[] = [
    ...(rooms as Answer[]).map(({ code }) => link(['rooms', code], `The room ${code}`)),
    ...(purchases as Answer[])
      .filter(({ kind }) => kind === 'coins')
      .map(({ purchase }) => link(['purchases', purchase], `The purchase ${purchase}`)),
    ...(keys as Answer[]).map(({ id, name, state }) => link(['log'], `The key ${id}, “${name}” (${state})`, { operator: `key:${id}` })),
  ];
  const isNobody = accounts.length === 0 && nextCursor === undefined;
  if (isNobody && others.length === 0)
    return { title: 'Nobody was found', parts: [make('p', { className: 'lead', textContent: whyNobody(who) })] };
  return {
    title: isNobody ? 'Found without an account' : 'Found',
    parts: [
      isNobody
        ? ''
        : section('Accounts', listed(foundAccounts, accounts), nextCursor === undefined ? '' : button('Look further', () => void more())),
      ...(others.length === 0
        ? []
        : [section('Else', make('ul', { className: 'stack because' }, ...others.map((text) => make('li', {}, text))))]),
    ],
  };
}

/** The possible reasons why nobody was found, and the next steps. */
function whyNobody(who: string): string {
  if (!/^(order:|purchase:|GPA\.)/i.test(who) && !/^\d{15,16}$/.test(who)) return 'Try another id or name of the user.';
  return (
    'The service knows no such order. Google Play tells the number only once the purchase has been paid for: search for the user by another ' +
    'id, and look at the purchases of coins in the account, or at the stuck ones under “Purchases”. Otherwise the order may be of another ' +
    'app, or the app has never sent it: ask the user to open the app while signed in, which sends bought coins again. If the coins do not ' +
    'come within minutes, compare the number with the receipt, and look for the order in the console of the store.'
  );
}

export async function searchView({ operator, signal }: Asked): Promise<Shown> {
  const help = make(
    'p',
    { className: 'lead' },
    'Search for what the user has: the installId that the app shows, an accountId, a name on a board, an order number (GPA.…), the id in the store, or the code of a room.',
  );
  if (operator.game !== undefined)
    return { title: 'Search', parts: [help, link(['boards', operator.game], `The board of ${operator.game}`)] };
  const { entries } = await admin('/log', { limit: '1' }, signal);
  const newest = entries[0];
  const since =
    newest === undefined
      ? ''
      : make(
          'p',
          { className: 'hint' },
          'The last change by an operator: ',
          time(newest.at),
          ` ${newest.action} by ${operatorText(newest.by)}.`,
        );
  return { title: 'Search', parts: [help, since, link(['changes'], 'All changes')] };
}
