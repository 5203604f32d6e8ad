import { admin, call, Failed, type Answer } from './console-calls.ts';
import { accountLink, chip, hashOf, link, table, time, type Asked, type Shown } from './console-parts.ts';
import { make } from './dom.ts';

/** What was found last. The text is kept nowhere: an installId is a secret, and addresses stay in the history of browsers. */
let last: { readonly accounts: readonly Answer[]; readonly problem: string } | undefined;

/**
 * Looks for whatever the user has.
 * @returns the address to go to: what was found, or the list of it
 */
export async function searchFrom(typed: string): Promise<string> {
  const text = typed.trim();
  if (text === '') return hashOf([]);
  if (/^[A-Za-z]{5}$/.test(text)) return hashOf(['rooms', text.toUpperCase()]);
  const found = await Promise.all(namesOf(text).map(accountsOf));
  const accounts = new Map(found.flat().map((account) => [account.accountId as string, account]));
  if (accounts.size === 1) {
    const [id] = accounts.keys();
    return hashOf(['accounts', id!]);
  }
  last = { accounts: [...accounts.values()], problem: accounts.size === 0 ? 'Nobody was found.' : '' };
  return hashOf([]);
}

/** What the text may be, in the words of `find`. */
function namesOf(text: string): string[] {
  if (/^(account|install|order|room|google|sandbox):/.test(text)) return [text];
  const names = [text];
  if (/^[\w.-]{8,255}$/.test(text)) names.push(`order:${text}`);
  // The subject of a Google account.
  if (/^\d{15,30}$/.test(text)) names.push(`google:${text}`);
  return names;
}

async function accountsOf(who: string): Promise<Answer[]> {
  try {
    return (await call('/v1/admin/find', { body: { who } })).accounts;
  } catch (error) {
    if (error instanceof Failed && ['account_not_found', 'invalid_request'].includes(error.code)) return [];
    throw error;
  }
}

export async function searchView({ operator, signal }: Asked): Promise<Shown> {
  const help = make(
    'p',
    { className: 'lead' },
    'Search for an accountId, the installId that the app shows, the user’s id in the store (google:…), an order number (GPA.…), or the code of a room.',
  );
  const found = last;
  last = undefined;
  if (found !== undefined) {
    const rows = found.accounts.map((account) => [
      accountLink(account.accountId),
      account.kind ?? '–',
      account.foundBy,
      time(account.createdAt),
      account.deletedAt !== undefined
        ? chip('deleted', 'waiting')
        : account.movedTo === undefined
          ? ''
          : make('span', {}, 'moved to ', accountLink(account.movedTo)),
    ]);
    return {
      title: 'Found',
      parts: [make('div', { className: 'card' }, table('Accounts', ['Account', 'Kind', 'Found by', 'Made', ''], rows, found.problem))],
    };
  }
  if (operator.game !== undefined)
    return { title: 'Search', parts: [help, link(['boards', operator.game], `The board of ${operator.game}`)] };
  const { entries } = await admin('/log', { limit: '1' }, signal);
  const newest = entries[0];
  const since =
    newest === undefined
      ? ''
      : make('p', { className: 'hint' }, 'The last change by an operator: ', time(newest.at), ` ${newest.action} by ${newest.by}.`);
  return { title: 'Search', parts: [help, since] };
}
