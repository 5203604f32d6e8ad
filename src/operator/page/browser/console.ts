import { accountView, timelineView } from './console-account.ts';
import { call, Failed, type Operator } from './console-calls.ts';
import { grantView, takeBackView } from './console-bulk.ts';
import { accountsView, boardsView, boardView, figuresView, logView, purchasesView, purchaseView } from './console-lists.ts';
import { keysView } from './console-keys.ts';
import {
  alertOf,
  asking,
  drawFor,
  hashOf,
  link,
  nameOperators,
  showLocalTimes,
  zoneName,
  type Asked,
  type Shown,
} from './console-parts.ts';
import { confirmedView, requestsView, whyView } from './console-requests.ts';
import { startView, topView } from './console-numbers.ts';
import { roomsView, roomView } from './console-room.ts';
import { changesView } from './console-change.ts';
import { foundView, searchFrom } from './console-search.ts';
import { signInView, whyOf } from './console-sign-in.ts';
import { webhooksView, webhookView } from './console-webhooks.ts';
import { byId, make, onPress, onSubmit } from '../../../web/browser/dom.ts';

type View = (asked: Asked) => Promise<Shown>;

const views: Readonly<Record<string, View>> = {
  '': startView,
  found: foundView,
  top: topView,
  accounts(asked) {
    if (asked.words.length === 0) return accountsView(asked);
    return asked.words[1] === 'timeline' ? timelineView(asked) : accountView(asked);
  },
  boards: (asked) => (asked.words.length === 0 ? boardsView(asked) : boardView(asked)),
  rooms: (asked) => (asked.words.length === 0 ? roomsView(asked) : roomView(asked)),
  purchases: (asked) => (asked.words.length === 0 ? purchasesView(asked) : purchaseView(asked)),
  log: logView,
  grant: grantView,
  'take-back': takeBackView,
  keys: keysView,
  webhooks: (asked) => (asked.words.length === 0 ? webhooksView(asked) : webhookView(asked)),
  health: figuresView,
  changes: changesView,
  requests: requestsView,
  confirmed: confirmedView,
  why: whyView,
};

const main = byId('main');
let operator: Operator | undefined;
let end: ReturnType<typeof setTimeout> | undefined;
/** Settles once the names of operators are known, or the service has refused them. */
let named = Promise.resolve();
let shownBy = new AbortController();
/** The address of the current view. */
let shownAt = '';

/** Shows the view of the address. */
async function show(): Promise<void> {
  if (operator === undefined) return;
  shownBy.abort();
  const mine = (shownBy = new AbortController());
  const { said } = asking;
  asking.said = undefined;
  const [path = '', query] = location.hash.replace(/^#\/?/, '').split('?');
  const [name = '', ...words] = path.split('/').map(decoded);
  const view = Object.hasOwn(views, name) ? views[name]! : startView;
  main.setAttribute('aria-busy', 'true');
  const asked = {
    words: words.filter((word) => word !== ''),
    query: new URLSearchParams(query),
    operator,
    signal: mine.signal,
    again: () => void show(),
  };
  try {
    await named;
    const shown = await view(asked);
    if (mine.signal.aborted) return;
    shownAt = location.hash;
    put(shown);
    markPlace(name);
  } catch (error) {
    if (mine.signal.aborted) return;
    if (said?.isConnected !== true || isEnd(error)) return fail(error);
    // The form that opened the refused view is still shown, with the typed text.
    said.textContent = (error as Error).message;
    history.replaceState(undefined, '', shownAt === '' ? hashOf([]) : shownAt);
    main.removeAttribute('aria-busy');
  }
}

/** Whether an error ends the session, or comes from a fault of the page. */
const isEnd = (error: unknown): boolean => !(error instanceof Failed) || error.isSignedOut;

function fail(error: unknown): void {
  if (error instanceof Failed && error.isSignedOut) return signedOut(error.message);
  put({ title: 'That did not work', parts: [make('p', { className: 'card', textContent: (error as Error).message })] });
  if (!(error instanceof Failed)) throw error;
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return '';
  }
}

/** Marks the link to the view that is shown. */
function markPlace(name: string): void {
  for (const place of byId('bar').querySelectorAll('nav a'))
    if (place.getAttribute('href') === hashOf([name])) place.setAttribute('aria-current', 'page');
    else place.removeAttribute('aria-current');
}

let titleBefore = '';

function put({ title, name, parts }: Shown): void {
  const isNew = title !== titleBefore;
  titleBefore = title;
  const heading = make('h1', { tabIndex: -1 }, ...(name === undefined ? [] : [make('bdi', { textContent: name }), ' · ']), title);
  main.replaceChildren(heading, ...parts);
  main.removeAttribute('aria-busy');
  document.title = `${name === undefined ? '' : `${name} · `}${title} · Console`;
  // The focus moves to a new view, where a screen reader then begins. A refreshed view keeps the focus.
  if (isNew) heading.focus();
}

function signedOut(why = ''): void {
  shownBy.abort();
  clearTimeout(end);
  for (const dialog of document.querySelectorAll('dialog')) dialog.remove();
  operator = undefined;
  byId('bar').replaceChildren();
  void signInView(signedIn, why).then((shown) => {
    // The operator may have signed in since, in another tab.
    if (operator !== undefined) return;
    put(shown);
    main.querySelector<HTMLElement>('input, .primary')?.focus();
  });
}

function signedIn(who: Operator): void {
  operator = who;
  drawFor(who);
  if (who.game === undefined)
    named = call('/console/operators').then(
      ({ operators }) => nameOperators(operators),
      () => {},
    );
  // At the end of the session the page hides its data, even if nobody is using it.
  if (who.endsAt !== undefined)
    end = setTimeout(() => signedOut('Your session has ended: sign in again.'), Date.parse(who.endsAt) - Date.now());
  byId('bar').replaceChildren(...bar(who));
  void show();
}

function bar(who: Operator): Node[] {
  const search = make('input', {
    name: 'who',
    autocomplete: 'off',
    spellcheck: false,
    maxLength: 300,
    placeholder: 'Id, token or name of the user',
  });
  search.setAttribute('aria-label', 'Search: accountId, installId, store id, order number, room code');
  // Selects the text, so that typing replaces a refused search.
  search.addEventListener('focus', () => search.select());
  const said = alertOf('');
  const form = make('form', { className: 'row' }, search, make('button', { type: 'submit', className: 'small', textContent: 'Search' }));
  form.setAttribute('role', 'search');
  onSubmit(form, async () => {
    said.textContent = '';
    try {
      const found = await searchFrom(search.value);
      search.value = '';
      if (location.hash === found) await show();
      else location.hash = found;
    } catch (error) {
      if (isEnd(error)) return fail(error);
      said.textContent = (error as Error).message;
      // The view that is still shown would look like the result of the search.
      shownBy.abort();
      history.replaceState(undefined, '', hashOf(['found']));
      put({ title: 'Nothing was found', parts: [make('p', { className: 'lead', textContent: (error as Error).message })] });
      search.focus();
      search.select();
    }
  });
  const may = (operation: string): boolean => who.operations.some(({ name }) => name === operation);
  const places: (readonly [string, string, boolean])[] = [
    ['', 'Start', true],
    ['accounts', 'Accounts', who.game === undefined],
    ['boards', 'Boards', true],
    ['rooms', 'Rooms', true],
    ['purchases', 'Purchases', who.game === undefined],
    ['log', 'Log', who.game === undefined],
    ['requests', 'Requests', who.provider !== undefined],
    ['grant', 'Bulk grant', may('coins grant')],
    ['webhooks', 'Webhooks', who.game === undefined],
    ['keys', 'Keys', may('keys create')],
    ['health', 'Health', who.game === undefined],
  ];
  const nav = make(
    'nav',
    { className: 'row' },
    ...places.filter(([_name, _text, isShown]) => isShown).map(([name, text]) => link([name], text)),
  );
  nav.setAttribute('aria-label', 'Console');
  const out = make('button', { type: 'button', className: 'small', textContent: 'Sign out' });
  onPress(out, async () => {
    await call('/console/session/end', { body: {} }).catch(() => {});
    history.replaceState(undefined, '', hashOf([]));
    signedOut('You are signed out.');
  });
  return [
    form,
    said,
    nav,
    make('p', { className: 'hint row who' }, make('bdi', { textContent: `${who.name} (${who.role})` }), zone(), out),
  ];
}

/**
 * Lets the operator choose between UTC and the time zone of the browser. The page shows all times in the chosen zone, and people type them
 * in it.
 */
function zone(): HTMLElement {
  const made = make('select', { name: 'zone' }, make('option', { value: 'utc', textContent: 'UTC' }));
  if (zoneName(true) !== 'UTC') made.append(make('option', { value: 'local', textContent: zoneName(true) }));
  made.setAttribute('aria-label', 'Zone of all times');
  made.addEventListener('change', () => {
    showLocalTimes(made.value === 'local');
    void show();
  });
  return made;
}

addEventListener('hashchange', () => void show());
try {
  signedIn((await call('/console/session')) as Operator);
} catch (error) {
  const [, word = ''] = /^#\/why\/(\w+)$/.exec(location.hash) ?? [];
  if (word !== '') history.replaceState(undefined, '', hashOf([]));
  signedOut((error as Failed).code === 'lost' ? (error as Failed).message : whyOf(word));
}
