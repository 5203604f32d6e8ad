import type { Cell, Listing } from '../../shown/cells.ts';
import { unreadableParts } from '../../shown/shown-reply.ts';
import { outcomeOf, type LogEntry } from '../../shown/shown-log.ts';
import type { Operator } from './console-calls.ts';
import { formatted, make } from '../../../web/browser/dom.ts';

export type Part = Node | string;

/** The input of a view: the words after its name in the address, the query, and the operator. */
export interface Asked {
  readonly words: readonly string[];
  readonly query: URLSearchParams;
  readonly operator: Operator;
  /** Aborted when another view is shown. */
  readonly signal: AbortSignal;
  /** Shows the view again, with fresh data. */
  readonly again: () => void;
}

/** Content of a view. */
export interface Shown {
  readonly title: string;
  /** A player's name, which is shown before the title. */
  readonly name?: string | undefined;
  readonly parts: readonly Part[];
}

/** The time zone in which the page shows times and people type them: UTC, or the zone of the browser. Addresses always have UTC. */
let isLocal = false;

export function showLocalTimes(local: boolean): void {
  isLocal = local;
}

/** `UTC`, or the zone of the browser, such as `Europe/Berlin`. */
export const zoneName = (local = isLocal): string => (local ? Intl.DateTimeFormat().resolvedOptions().timeZone : 'UTC');

/** A time in the time zone of the page, to the second, in the form of an input for times: `2026-11-22T12:00:00`. */
export function zonedTime(at: Date): string {
  const shifted = isLocal ? at.getTime() - at.getTimezoneOffset() * 60_000 : at.getTime();
  return new Date(shifted).toISOString().slice(0, 19);
}

/** The time that a person has typed in the time zone of the page. Undefined: none. */
export function timeTyped(text: string): Date | undefined {
  const at = new Date(isLocal || text === '' ? text : `${text}Z`);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

/** A time of the service, to the second. */
export function time(iso: string | undefined): Part {
  if (iso === undefined) return '–';
  return make('time', { dateTime: iso, textContent: zonedTime(new Date(iso)).replace('T', ' '), title: `${iso} (UTC)` });
}

const zoned = (name: string): string => name.replace('(UTC)', `(${zoneName()})`);

/** Draws what a reply shows. */
export function draw(cell: Cell): Part {
  if (cell === undefined) return '';
  if (typeof cell !== 'object') return String(cell);
  if (!('kind' in cell)) return make('span', {}, ...cell.map(draw));
  const { kind, text, to = [], query = {} } = cell;
  switch (kind) {
    case 'time':
      return time(text);
    case 'coins':
      return coins(Number(text));
    case 'strong':
      return make('strong', { textContent: coins(Number(text)) });
    case 'account':
      return accountLink(text);
    case 'by':
      return make('bdi', { textContent: operatorText(text) });
    case 'name':
      return make('bdi', { textContent: text });
    case 'code':
      return make('span', { className: 'mono', textContent: text });
    case 'good':
      return chip(text, 'live');
    case 'waiting':
      return chip(text, 'waiting');
    case 'link':
      return link(to, text, query);
  }
}

const isFigure = (cell: Cell): boolean => typeof cell === 'number' || (typeof cell === 'object' && 'kind' in cell && cell.kind === 'coins');

/**
 * The table of what a reply shows.
 * @param act a button for each row
 * @param none in place of a table without rows
 */
export function listed<Row>(
  { title, columns, ...listing }: Listing<Row>,
  rows: readonly Row[],
  { act, none = listing.none }: { readonly act?: (row: Row) => Part; readonly none?: string } = {},
): HTMLElement {
  const cells = rows.map((row) => Object.values(columns).map((column) => column(row)));
  const names = Object.keys(columns).map((name, index) => (cells.some((line) => isFigure(line[index])) ? `#${name}` : name));
  const buttons = rows.map((row) => act?.(row) ?? '');
  const hasButtons = buttons.some((made) => made !== '');
  const lines = cells.map((line, index) => [
    ...line.map((cell) => (cell === undefined ? '–' : draw(cell))),
    ...(hasButtons ? [buttons[index]!] : []),
  ]);
  return table(title, hasButtons ? [...names, ''] : names, lines, none);
}

export const coins = (count: number): string => formatted(count);

/** Says what the answers leave out because its data is damaged. */
export function damaged(...answers: readonly { readonly unreadable?: readonly string[] }[]): Part[] {
  const names = [...new Set(answers.flatMap(({ unreadable = [] }) => unreadable))];
  return unreadableParts(names).map((text) => make('p', { className: 'lead', textContent: text as string }));
}

/** A link within the console. The words are encoded, although ids of the service do not need it. */
export function link(words: readonly string[], text: string, query: Readonly<Record<string, string>> = {}): HTMLAnchorElement {
  return make('a', { href: hashOf(words, query), textContent: text });
}

export function hashOf(words: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '');
  const tail = given.length === 0 ? '' : `?${String(new URLSearchParams(given))}`;
  return `#/${words.map(encodeURIComponent).join('/')}${tail}`;
}

export const accountLink = (id: string | undefined): Part => {
  if (id === undefined) return '–';
  return reachesAccounts ? Object.assign(link(['accounts', id], id), { className: 'mono' }) : id;
};

let reachesAccounts = true;

/** A key of one game cannot reach accounts, so it gets no links to accounts. */
export function drawFor({ game }: Operator): void {
  reachesAccounts = game === undefined;
}

export const chip = (text: string, kind: 'live' | 'waiting' | '' = ''): HTMLElement =>
  make('span', { className: `chip ${kind}`, textContent: text });

export function section(title: string, ...parts: readonly Part[]): HTMLElement {
  const heading = make('h2', { textContent: title, id: `s-${title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}` });
  const made = make('section', { className: 'card' }, heading, ...parts);
  made.setAttribute('aria-labelledby', heading.id);
  return made;
}

/** A list of facts. Facts without a value are left out. */
export function facts(pairs: readonly (readonly [name: string, value: Cell | Node])[]): HTMLElement {
  const rows = pairs
    .filter(([, value]) => value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) =>
      make('div', {}, make('dt', { textContent: zoned(name) }), make('dd', {}, value instanceof Node ? value : draw(value))),
    );
  return make('dl', { className: 'facts' }, ...rows);
}

/** Columns whose name begins with `#` hold numbers. */
export function table(
  caption: string,
  columns: readonly string[],
  rows: readonly (readonly (Part | undefined)[])[],
  none: string,
): HTMLElement {
  if (rows.length === 0) return make('p', { className: 'none', textContent: none });
  const isNumber = columns.map((name) => name.startsWith('#'));
  // The column of buttons has no name, so it must not get an empty header cell.
  const heads = columns.map((name, index) =>
    name === ''
      ? make('td')
      : make('th', { scope: 'col', className: isNumber[index] === true ? 'number' : '', textContent: zoned(name.replace('#', '')) }),
  );
  const lines = rows.map((cells) =>
    make(
      'tr',
      {},
      ...cells.map((cell = '–', index) => {
        const made = make('td', { className: isNumber[index] === true ? 'number' : '' }, cell);
        // A phone shows a row as a list of its cells, each with the name of its column.
        if (cell !== '–') made.dataset['label'] = zoned((columns[index] ?? '').replace('#', ''));
        return made;
      }),
    ),
  );
  const made = make(
    'div',
    { className: 'sideways', tabIndex: 0 },
    make('table', {}, make('caption', { textContent: caption }), make('thead', {}, make('tr', {}, ...heads)), make('tbody', {}, ...lines)),
  );
  made.setAttribute('role', 'group');
  made.setAttribute('aria-label', caption);
  return made;
}

let operatorNames: ReadonlyMap<string, string> = new Map();

export function nameOperators(operators: readonly { readonly id: string; readonly name: string }[]): void {
  operatorNames = new Map(operators.map(({ id, name }) => [id, name]));
}

/** The operator of an entry, by id and name: `anna (6h6uhn9b)`. */
export function operatorText(by: string): string {
  const name = operatorNames.get(by);
  return name === undefined ? by : `${name} (${by.replace(/^\w+:/, '')})`;
}

/** Whether the ticket had been used before, so that nothing changed. */
export const isReplay = ({ outcome }: LogEntry): boolean => outcome?.['replayed'] === 'yes';

const WORDS: Readonly<Record<string, string>> = {
  account: 'Account',
  coins: 'Coins',
  key: 'Ticket',
  name: 'Name',
  until: 'Until',
  balanceAfterCoins: 'New balance',
  debtCoins: 'Debt',
  replayed: 'Booked before',
  movedTo: 'Moved to',
};

/**
 * An entry of the log, with one fact per line, so that a dialog can show the whole entry.
 * @param typed text that the operator typed and the log does not keep
 */
export function logFacts(entry: LogEntry, typed: readonly (readonly [string, string])[]): HTMLElement {
  const { account = '', ...what } = entry.what;
  const { word: _, ...outcome } = entry.outcome ?? {};
  const words = isReplay(entry) ? { ...WORDS, balanceAfterCoins: 'Balance after it' } : WORDS;
  const named = (details: Readonly<Record<string, string | number>>): [string, Node | string][] =>
    Object.entries(details).map(([name, value]) => [
      words[name] ?? name,
      /coins$/i.test(name) ? coins(Number(value)) : make('bdi', { textContent: String(value) }),
    ]);
  return facts([
    ['At (UTC)', time(entry.at)],
    ['Who', make('bdi', { textContent: operatorText(entry.by) })],
    ['What', entry.action],
    ['Account', ID.test(String(account)) ? accountLink(String(account)) : String(account)],
    ...named(what),
    ...typed.map(([label, text]) => [label, make('bdi', { textContent: text })] as const),
    ['Why', make('bdi', { textContent: entry.why })],
    ['Outcome', chip(outcomeOf(entry), outcomeOf(entry) === 'done' ? 'live' : 'waiting')],
    ...named(outcome),
  ]);
}

const ID = /^[\w-]{22}$/;

/** A row of buttons and links; '' is left out. */
export const row = (...parts: readonly Part[]): HTMLElement => make('div', { className: 'row' }, ...parts);

/** A button in a row of buttons. */
export function button(text: string, work: () => void, kind = 'small'): HTMLButtonElement {
  const made = make('button', { type: 'button', className: kind, textContent: text });
  made.addEventListener('click', work);
  return made;
}

export function field(label: string, input: HTMLElement, hint = ''): HTMLLabelElement {
  return make('label', {}, label, input, ...(hint === '' ? [] : [make('span', { className: 'hint', textContent: hint })]));
}

/** Marks the label of a required field. */
export const marked = (label: string, { required }: HTMLInputElement | HTMLSelectElement): string =>
  required ? `${label} (required)` : label;

/** The place in a form for the refusal of a view: the form that opened the view shows it. */
export const asking: { said: HTMLElement | undefined } = { said: undefined };

type Field = readonly [label: string, input: HTMLInputElement | HTMLSelectElement];

/** A form that leads to another address. If that view is refused, the form stays with the typed text. */
export function addressForm(fields: readonly Field[], addressOf: () => string, ...more: readonly Part[]): HTMLFormElement {
  const said = alertOf('');
  const form = make(
    'form',
    { className: 'row filter' },
    ...fields.map(([label, input]) => field(label, input)),
    make('button', { type: 'submit', className: 'small', textContent: 'Show' }),
    ...more,
    said,
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const secret = fields.find(([, input]) => isSecret(input));
    said.textContent =
      secret === undefined
        ? ''
        : `${secret[0]}: ${secret[1].name === 'account' ? 'an accountId has 22 characters' : 'this looks like an installId'}. ${KEPT}`;
    if (secret !== undefined) return secret[1].focus();
    const address = addressOf();
    // If the address does not change, the browser sends no event.
    if (address !== location.hash) asking.said = said;
    location.hash = address;
  });
  return form;
}

const KEPT = 'Find an installId with the search above: it is a secret, and addresses stay in the history of browsers.';
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/**
 * Whether a text may be an installId, which must not get into an address. The `key` of a ledger entry is often a UUID too, but no secret.
 */
function isSecret({ name, value }: HTMLInputElement | HTMLSelectElement): boolean {
  const text = value.trim();
  if (text === '' || name === 'key') return false;
  return name === 'account' ? !ID.test(text) : UUID.test(text);
}

export function input(name: string, value = '', more: Partial<HTMLInputElement> = {}): HTMLInputElement {
  return make('input', { name, value, autocomplete: 'off', spellcheck: false, ...more });
}

export function select(name: string, value: string, options: readonly (readonly [value: string, text: string])[]): HTMLSelectElement {
  const made = make('select', { name }, ...options.map(([option, text]) => make('option', { value: option, textContent: text })));
  made.value = value;
  return made;
}

/** A text that the operator has to read before doing anything else. */
export function alertOf(text: string): HTMLElement {
  const made = make('p', { className: 'problem', textContent: text });
  made.setAttribute('role', 'alert');
  return made;
}

/** Lets the browser save a file. */
export function download(fileName: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  make('a', { href: address, download: fileName }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
