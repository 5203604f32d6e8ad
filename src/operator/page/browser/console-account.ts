import { admin, Failed, mayAct, type Answer, type Operator } from './console-calls.ts';
import { changeButton, daysFor, isoOf, spanTo, timeInput, type Change } from './console-change.ts';
import { coins, draw, facts, filterForm, input, link, listed, section, select, type Asked, type Shown } from './console-parts.ts';
import { moveButton } from './console-lists.ts';
import * as shown from '../../shown/shown-account.ts';
import { logEntries } from '../../shown/shown-log.ts';
import { make } from '../../../web/browser/dom.ts';
import { browserOf } from '../../../web/browser/user-agent.ts';

/** All of an account on one screen. */
export async function accountView({ words: [id = ''], query, operator, signal, again }: Asked): Promise<Shown> {
  const path = `/accounts/${encodeURIComponent(id)}`;
  const cursor = query.get('cursor') ?? undefined;
  const [account, { because }, page, { entries: changes }, told] = await Promise.all([
    admin(path, {}, signal),
    admin(`${path}/explain`, {}, signal),
    admin(`${path}/history`, { limit: '50', cursor, ...ledgerFilter(query) }, signal),
    admin('/log', { account: id, limit: '20' }, signal),
    eventsOf(path, query, signal),
  ]);
  const change = changesOf(account, operator, again);
  return {
    name: account.givenName?.name ?? account.boards.scores[0]?.name,
    title: `Account ${account.accountId}`,
    parts: [
      ...(account.movedFrom === undefined
        ? []
        : [make('p', { className: 'lead', textContent: `${account.movedFrom} moved into this account.` })]),
      make(
        'div',
        { className: 'grid' },
        section('Standing', facts(shown.standing(account)), buttons(change.ban, change.unban, change.delete)),
        section('Balance', facts(shown.balance(account)), buttons(change.adjust)),
        section(
          'Entitlement',
          facts(shown.entitlement(account)),
          sentences(because),
          buttons(change.give, change.takeBack, change.restart, change.restore),
        ),
        section('Name', name(account), buttons(change.rename, change.unname)),
      ),
      section('Sessions', sessions(account, operator, again), buttons(change.signOut)),
      section('Ledger', ledger(account, page, query)),
      section('Purchases of coins', listed(shown.coinPurchases, account.coinPurchases)),
      section('Subscriptions', subscriptions(account, operator, again)),
      make('div', { className: 'grid' }, section('Rooms', listed(shown.seats, account.rooms)), section('Boards', boards(account))),
      section('What operators did', listed(logEntries, changes)),
      section('Events', events(account, told, query)),
    ],
  };
}

const buttons = (...made: readonly (HTMLElement | undefined)[]): HTMLElement =>
  make('div', { className: 'row' }, ...made.filter((part) => part !== undefined));

/** The changes that the operator may make and that make sense now. */
function changesOf(account: Answer, operator: Operator, again: () => void) {
  const target = { accountId: account.accountId as string };
  const may = (least: 'support' | 'economist' | 'admin', change: Omit<Change, 'target' | 'path'> & { verb: string }, isUseful = true) =>
    mayAct(operator, least) && isUseful
      ? changeButton({ ...change, target, path: `/accounts/${encodeURIComponent(target.accountId)}/${change.verb}` }, operator, again)
      : undefined;
  const amount = input('coins', '', { type: 'number', required: true, step: '1', min: '-1000000000000', max: '1000000000000' });
  const banEnd = timeInput('until', false);
  const giveEnd = timeInput('until', true);
  const newName = input('name', '', { required: true, maxLength: 60 });
  const device = account.trial.device as string | undefined;
  const trial = (verb: 'restart' | 'restore', title: string) =>
    mayAct(operator, 'economist') && device !== undefined
      ? changeButton(
          {
            title,
            operation: `trials ${verb}`,
            path: `/trials/${verb}`,
            target: {},
            valuesOf: () => ({ device, account: target.accountId }),
          },
          operator,
          again,
        )
      : undefined;
  const isLarge = (): boolean => Math.abs(Number(amount.value)) > operator.supportAdjustCoins;
  return {
    adjust: may('support', {
      verb: 'adjust',
      title: 'Correct the balance',
      operation: 'accounts adjust',
      hasKey: true,
      fields: [
        [
          mayAct(operator, 'economist') ? 'Coins (-50 removes 50)' : `Coins, up to ${coins(operator.supportAdjustCoins)} (-50 removes 50)`,
          amount,
        ],
      ],
      valuesOf: () => ({ coins: Number(amount.value) }),
      typed: () => (isLarge() ? { what: 'the coins', number: String(Math.abs(Number(amount.value))) } : undefined),
    }),
    ban: may('support', {
      verb: 'ban',
      title: 'Ban',
      operation: 'accounts ban',
      fields: [['Until (UTC; empty: without an end)', banEnd, daysFor(banEnd)]],
      note: () => spanTo(banEnd),
      valuesOf: () => ({ until: isoOf(banEnd) }),
    }),
    unban: may('support', { verb: 'unban', title: 'End the ban', operation: 'accounts unban' }, account.state === 'banned'),
    signOut: may('support', {
      verb: 'sign-out',
      title: 'Sign out everywhere',
      operation: 'accounts sign-out',
      hint: 'Ends all sessions, those of paired browsers too. The app or the store can sign in again.',
    }),
    give: may('economist', {
      verb: 'give',
      title: 'Give access',
      operation: 'accounts give',
      fields: [['Until (UTC)', giveEnd, daysFor(giveEnd)]],
      note: () => spanTo(giveEnd),
      valuesOf: () => ({ until: isoOf(giveEnd) }),
    }),
    takeBack: may(
      'economist',
      { verb: 'take-back', title: 'Take access back', operation: 'accounts take-back' },
      account.gift !== undefined,
    ),
    rename: may('support', {
      verb: 'rename',
      title: 'Rename',
      operation: 'accounts rename',
      hint: 'Changes the name on all boards and in the rooms of the last two weeks, and in later ones.',
      fields: [['New name', newName]],
      valuesOf: () => ({ name: newName.value }),
    }),
    unname: may('support', { verb: 'unname', title: 'Take the name back', operation: 'accounts unname' }, account.givenName !== undefined),
    restart: trial('restart', 'Begin the trial again'),
    restore: trial('restore', 'Take the last restart back'),
    delete: may('admin', {
      verb: 'delete',
      title: 'Delete for good',
      operation: 'accounts delete',
      hint: 'First make sure that the request really comes from the user.',
      typed: () => ({ what: 'the coins that will be deleted', number: String(account.balanceCoins) }),
    }),
  };
}

const sentences = (all: readonly string[]): HTMLElement =>
  make('ul', { className: 'stack because' }, ...all.map((sentence) => make('li', { textContent: sentence })));

/** The sessions of pairings and of sign-ins with the store. */
function sessions(
  { accountId, sessions: { listed: open, signOutsEverywhere } }: shown.Account,
  operator: Operator,
  again: () => void,
): HTMLElement {
  const end = (session: string): HTMLElement => {
    const made = changeButton(
      {
        title: 'End',
        operation: 'accounts end-session',
        path: `/accounts/${encodeURIComponent(accountId)}/end-session`,
        target: { accountId },
        valuesOf: () => ({ session }),
      },
      operator,
      again,
    );
    made.setAttribute('aria-label', `End the session ${session}`);
    return made;
  };
  const act = mayAct(operator, 'support') ? ({ id }: { readonly id: string }) => end(id) : undefined;
  const named = open.map((session) => ({ ...session, userAgent: browserOf(session.userAgent) }));
  return make(
    'div',
    {},
    listed(shown.sessions, named, { act }),
    make('p', { className: 'hint', textContent: shown.signedOut(signOutsEverywhere) }),
  );
}

function name(account: shown.Account): HTMLElement {
  if (account.givenName === undefined) return make('p', { className: 'none', textContent: 'The player chooses the name.' });
  return facts(shown.givenName(account));
}

const FILTERS = ['type', 'key', 'origin', 'from', 'to'] as const;

/** Converts days in the page's address to times. */
function ledgerFilter(query: URLSearchParams): Record<string, string | undefined> {
  const time = (day: string | null): string | undefined => (/^\d{4}-\d\d-\d\d$/.test(day ?? '') ? `${day}T00:00:00Z` : undefined);
  const given = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? undefined]));
  return { ...given, from: time(query.get('from')), to: time(query.get('to')) };
}

function ledger({ accountId }: Answer, { entries, nextCursor }: Answer, query: URLSearchParams): HTMLElement {
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? '']));
  const types = ['', 'credit', 'debit', 'purchase', 'topup', 'refund', 'grant', 'adjust', 'prize', 'merge'];
  const words = ['accounts', accountId];
  return make(
    'div',
    {},
    filterForm(words, [
      [
        'Type',
        select(
          'type',
          filter['type']!,
          types.map((type) => [type, type || 'all'] as const),
        ),
      ],
      ['Key', input('key', filter['key'])],
      ['By (key:…, a name, or client)', input('origin', filter['origin'])],
      ['From (UTC)', input('from', filter['from'], { type: 'date' })],
      ['To (UTC)', input('to', filter['to'], { type: 'date' })],
    ]),
    listed(shown.ledger, entries, nextCursor === undefined ? {} : { none: 'No such entry so far: older ones may follow.' }),
    make(
      'div',
      { className: 'row' },
      query.get('cursor') === null ? '' : link(words, 'Newest', filter),
      nextCursor === undefined ? '' : link(words, 'Older', { ...filter, cursor: nextCursor }),
    ),
  );
}

/** Undefined if the service has no events. */
async function eventsOf(path: string, query: URLSearchParams, signal: AbortSignal): Promise<Answer | undefined> {
  const [minute] = /^\d{4}-\d\d-\d\dT\d\d:\d\d/.exec(query.get('before') ?? '') ?? [];
  const before = minute === undefined ? undefined : `${minute}:00Z`;
  try {
    return await admin(`${path}/events`, { limit: '20', before, cursor: query.get('events') ?? undefined }, signal);
  } catch (error) {
    if (error instanceof Failed && error.code === 'event_not_found') return undefined;
    throw error;
  }
}

/** The account's events, as webhooks and readers of the log get them. Only a part of the log is searched; the section says which part. */
function events({ accountId }: shown.Account, told: Answer | undefined, query: URLSearchParams): HTMLElement {
  if (told === undefined) return make('p', { className: 'none', textContent: 'This service keeps no events (EVENTS=off).' });
  const { events: found, nextCursor } = told;
  const words = ['accounts', accountId as string];
  const before = query.get('before') ?? '';
  return make(
    'div',
    {},
    filterForm(words, [['Before (UTC)', input('before', before, { type: 'datetime-local' })]]),
    listed(shown.events, found, nextCursor === undefined ? { none: 'No event of this account is kept.' } : {}),
    make('p', { className: 'hint' }, draw(shown.reach(told))),
    make(
      'div',
      { className: 'row' },
      query.get('events') === null ? '' : link(words, 'Newest events', { before }),
      nextCursor === undefined ? '' : link(words, 'Older events', { before, events: nextCursor }),
    ),
  );
}

function subscriptions(account: shown.Account, operator: Operator, again: () => void): HTMLElement {
  return make(
    'div',
    {},
    facts(shown.subscription(account)),
    listed(shown.subscriptionPurchases, account.purchases, { act: ({ purchase }) => moveButton(purchase, operator, again) }),
  );
}

function boards(account: shown.Account): HTMLElement {
  const { games, more } = shown.otherBoards(account);
  return make(
    'div',
    {},
    listed(shown.scores, account.boards.scores),
    make('ul', { className: 'stack because' }, ...games.map((game) => make('li', {}, link(['boards', game], game)))),
    more > 0 ? make('p', { className: 'hint', textContent: `and ${more} more` }) : '',
  );
}
