import { admin, type Answer } from './console-calls.ts';
import { filterOf } from './console-fields.ts';
import { alertOf, button, coins, download, facts, link, listed, row, section, type Asked, type Shown } from './console-parts.ts';
import { plot, type Series } from './console-plot.ts';
import { searchView } from './console-search.ts';
import { looked } from '../../shown/shown-account.ts';
import { sumOf, todoItems, topAccounts, withoutMoves, type Day } from '../../shown/shown-numbers.ts';
import { make } from '../../../web/browser/dom.ts';

/** The first view: what needs a person, and the numbers of each day. A key of one game sees neither. */
export async function startView(asked: Asked): Promise<Shown> {
  const { operator, signal } = asked;
  if (operator.game !== undefined) return searchView(asked);
  // One after the other: the service refuses further costly requests of a key while some wait, also those of the next view.
  const search = await searchView(asked);
  const { items } = await admin('/todo', {}, signal);
  return { title: 'Start', parts: [...search.parts, section('Needs a person', listed(todoItems, items)), numbers(asked)] };
}

/** The numbers follow once they are read, so that nobody waits for them who wants to search. */
function numbers(asked: Asked): HTMLElement {
  const { signal } = asked;
  const { form, sent, typed } = filterOf('numbers list', [], asked);
  const made = make('div', { className: 'numbers' }, make('p', { className: 'hint', textContent: 'The numbers are being read …' }));
  made.setAttribute('aria-busy', 'true');
  const isFiltered = typed['from'] !== '' || typed['to'] !== '';
  admin('/numbers', sent, signal)
    .then(
      ({ days, since }) => [
        section('Numbers', sum(days, since), row(link(['top', 'balance'], 'Top lists'), ...files(sent)), form),
        ...plots(days),
        ...(isFiltered ? [row(link([], 'The last 90 days'))] : []),
      ],
      (error: unknown) => [section('Numbers', alertOf((error as Error).message), form)],
    )
    .then((parts) => {
      made.replaceChildren(...parts);
      made.removeAttribute('aria-busy');
    });
  return made;
}

function sum(days: readonly Day[], since: string | undefined): HTMLElement {
  const total = (of: (day: Day) => number): number => days.reduce((all, day) => all + of(day), 0);
  const [first, last] = [days[0]!, days.at(-1)!];
  return make(
    'div',
    {},
    make('p', {
      className: 'hint',
      textContent:
        since === undefined
          ? 'Nothing was counted yet: the numbers begin with the first coin, account or room.'
          : `Days in UTC, from ${first.day} to ${last.day}. ${since > first.day ? `There are numbers since ${since}.` : ''}`,
    }),
    facts([
      ['Coins in', coins(total(({ coinsIn }) => sumOf(withoutMoves(coinsIn))))],
      ['Coins out', coins(total(({ coinsOut }) => sumOf(withoutMoves(coinsOut))))],
      ['Accounts created', coins(total(({ newAccounts }) => newAccounts))],
      [`Accounts active on ${last.day}`, `about ${coins(last.activeAccounts)}`],
      ['Rooms', coins(total(({ rooms }) => rooms))],
      ['Matches', coins(total(({ matches }) => matches))],
      ['Prizes', coins(total(({ prizes }) => prizes))],
    ]),
  );
}

/** Buttons that save the numbers as files. */
function files(sent: Readonly<Record<string, string | undefined>>): HTMLElement[] {
  const said = alertOf('');
  const save = (of: 'days' | 'products', text: string): HTMLElement =>
    button(text, () => {
      said.textContent = '';
      admin('/numbers/export', { ...sent, of }).then(
        ({ csv }) => download(`numbers-${of}.csv`, csv as string),
        (error: unknown) => void (said.textContent = (error as Error).message),
      );
    });
  return [save('days', 'Days as CSV'), save('products', 'Products as CSV'), said];
}

function plots(days: readonly Day[]): HTMLElement[] {
  const names = days.map(({ day }) => day);
  const series = (name: string, of: (day: Day) => number): Series => ({ name, values: days.map(of) });
  return [
    section(
      'Coins by kind',
      make('p', {
        className: 'hint',
        textContent: 'Above the line: coins that came in. Below: coins that went out. Moves of guests change no sum and are left out.',
      }),
      plot({
        title: 'Coins by kind',
        description: 'Coins that came in and went out on each day, by kind of ledger entry. The table has the figures.',
        days: names,
        kind: 'bars',
        series: [...ofKinds(days, 'coinsIn', 1), ...ofKinds(days, 'coinsOut', -1)],
      }),
    ),
    section(
      'Bought and refunded',
      make('p', { className: 'hint', textContent: 'Coins of each product and store. Above the line: bought. Below: refunded.' }),
      plot({
        title: 'Bought and refunded',
        description: 'Coins that were bought and refunded on each day, by product and store. The table has the figures.',
        days: names,
        kind: 'bars',
        series: ofProducts(days),
      }),
    ),
    section(
      'Accounts',
      make('p', {
        className: 'hint',
        textContent: 'An account is active on a day on which it writes something. Active accounts are counted within some 1 %.',
      }),
      plot({
        title: 'Accounts',
        description: 'New and active accounts of each day. The table has the figures.',
        days: names,
        kind: 'lines',
        series: [series('Active', ({ activeAccounts }) => activeAccounts), series('New', ({ newAccounts }) => newAccounts)],
        columns: [series('Moved in', ({ movedAccounts }) => movedAccounts), series('Deleted', ({ deletedAccounts }) => deletedAccounts)],
      }),
    ),
    section(
      'Rooms and matches',
      make('p', { className: 'hint', textContent: 'A match is a room whose game began.' }),
      plot({
        title: 'Rooms and matches',
        description: 'Rooms that were opened and matches that began on each day. The table has the figures.',
        days: names,
        kind: 'lines',
        series: [series('Rooms', ({ rooms }) => rooms), series('Matches', ({ matches }) => matches)],
      }),
    ),
    section(
      'Prizes',
      plot({
        title: 'Prizes',
        description: 'Coins of prizes that were paid on each day. The table has the figures.',
        days: names,
        kind: 'bars',
        series: [series('Coins', ({ coinsIn }) => coinsIn['prize'] ?? 0)],
        columns: [series('Prizes', ({ prizes }) => prizes)],
      }),
    ),
  ];
}

/** A series for each type of ledger entry that occurs. */
function ofKinds(days: readonly Day[], which: 'coinsIn' | 'coinsOut', sign: 1 | -1): Series[] {
  const types = [...new Set(days.flatMap((day) => Object.keys(withoutMoves(day[which]))))];
  const way = sign === 1 ? 'in' : 'out';
  return types.map((type) => ({ name: `${type} ${way}`, values: days.map((day) => sign * (day[which][type] ?? 0)) }));
}

function ofProducts(days: readonly Day[]): Series[] {
  const all = new Map<string, { store: string; productId: string }>();
  for (const { products } of days) for (const { store, productId } of products) all.set(`${store} ${productId}`, { store, productId });
  return [...all].toSorted().flatMap(([name, { store, productId }]) => {
    const of = (day: Day) => day.products.find((each) => each.store === store && each.productId === productId);
    return [
      { name, values: days.map((day) => of(day)?.boughtCoins ?? 0) },
      { name: `${name} refunded`, values: days.map((day) => 0 - (of(day)?.refundedCoins ?? 0)) },
    ];
  });
}

const LISTS = { balance: 'Highest balances', debt: 'Highest debts', growth: 'Fastest growth', spent: 'Spent most' } as const;

/** The accounts that are first by balance, debt, growth or coins spent. The service searches all accounts, in parts. */
export async function topView(asked: Asked): Promise<Shown> {
  const { words, signal } = asked;
  const by = words[0] !== undefined && Object.hasOwn(LISTS, words[0]) ? (words[0] as keyof typeof LISTS) : 'balance';
  const { form, sent } = filterOf('numbers top', ['top', by], asked);
  const said = make('p', { className: 'hint' });
  said.setAttribute('role', 'status');
  const found = make('div', {});
  const tabs = Object.entries(LISTS).map(([name, text]) => {
    const tab = link(['top', name], text, sent['days'] === undefined || sent['days'] === '' ? {} : { days: sent['days'] });
    if (name === by) tab.setAttribute('aria-current', 'page');
    return tab;
  });
  const nav = make('nav', { className: 'row' }, ...tabs);
  nav.setAttribute('aria-label', 'Top lists');
  let best: readonly Answer[] = [];
  let count = 0;
  const readOn = async (cursor: string | undefined): Promise<void> => {
    const page = await admin('/numbers/top', { by, ...sent, limit: String(SHOWN), cursor }, signal);
    count += page.looked as number;
    const byId = new Map([...best, ...(page.accounts as Answer[])].map((each) => [each.accountId as string, each]));
    best = [...byId.values()].toSorted((one, other) => other.coins - one.coins).slice(0, SHOWN);
    found.replaceChildren(listed(topAccounts(LISTS[by]), best));
    said.textContent = page.nextCursor === undefined ? looked(count) : `${looked(count)} Searching on …`;
    if (page.nextCursor !== undefined)
      void readOn(page.nextCursor as string).catch((error: unknown) => {
        if (!signal.aborted) said.textContent = `${looked(count)} ${(error as Error).message}`;
      });
  };
  await readOn(undefined);
  const isOfDays = by === 'growth' || by === 'spent';
  return { title: LISTS[by], parts: [nav, ...(isOfDays ? [form] : []), section('Accounts', found, said)] };
}

/** Accounts of a list. */
const SHOWN = 20;
