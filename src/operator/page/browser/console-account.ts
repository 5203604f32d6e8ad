import { admin, Failed, type Answer } from './console-calls.ts';
import { changeButton } from './console-change.ts';
import { aroundLink, filterOf, type Filter } from './console-fields.ts';
import { damaged, draw, facts, link, listed, row, section, type Asked, type Part, type Shown } from './console-parts.ts';
import { moveButton } from './console-lists.ts';
import * as shown from '../../shown/shown-account.ts';
import type { ShownAccount } from '../../account-reply.ts';
import { logEntries } from '../../shown/shown-log.ts';
import { timeline } from '../../shown/shown-timeline.ts';
import { make } from '../../../web/browser/dom.ts';
import { browserOf } from '../../../web/browser/user-agent.ts';

/** The events in the life of an account in one list, with a filter to the second. */
export async function timelineView(asked: Asked): Promise<Shown> {
  const {
    words: [id = ''],
    signal,
  } = asked;
  const words = ['accounts', id, 'timeline'];
  const { form, sent, typed } = filterOf('accounts timeline', words, asked);
  const answer = await admin(`/accounts/${encodeURIComponent(id)}/timeline`, { ...sent, limit: '100' }, signal);
  const { accountId, moments, nextTo } = answer;
  return {
    title: `Timeline of ${accountId}`,
    parts: [
      ...damaged(answer),
      link(['accounts', accountId], 'The account'),
      form,
      section(
        'What happened',
        listed(timeline, moments, {
          ...(nextTo === undefined ? {} : { none: 'Nothing so far: there may be older entries.' }),
          act: ({ at }) => aroundLink(accountId, at),
        }),
        row(nextTo === undefined ? '' : link(words, 'Older', { ...typed, to: nextTo as string })),
      ),
    ],
  };
}

/** All of an account on one screen. */
export async function accountView(asked: Asked): Promise<Shown> {
  const {
    words: [id = ''],
    query,
    signal,
  } = asked;
  const path = `/accounts/${encodeURIComponent(id)}`;
  const cursor = query.get('cursor') ?? undefined;
  const words = ['accounts', id];
  const ledgerFilter = filterOf('accounts history', words, asked);
  const eventFilter = filterOf('accounts events', words, asked);
  const [account, explained, page, { entries: changes }, told] = await Promise.all([
    admin(path, {}, signal),
    admin(`${path}/explain`, {}, signal),
    admin(`${path}/history`, { limit: '50', cursor, ...ledgerFilter.sent }, signal),
    admin('/log', { account: id, limit: '20' }, signal),
    eventsOf(path, { ...eventFilter.sent, cursor: query.get('events') ?? undefined }, signal),
  ]);
  const { accountId, state } = account;
  const change = (verb: string, isUseful = true): Part => (isUseful ? changeButton(`accounts ${verb}`, { accountId }, asked) : '');
  const { device } = account.trial ?? {};
  const trial = (verb: string): Part => (device === undefined ? '' : changeButton(`trials ${verb}`, { device, account: accountId }, asked));
  return {
    name: account.givenName?.name ?? account.boards?.scores[0]?.name,
    title: `Account ${account.accountId}`,
    parts: [
      ...damaged(account, explained, page, told ?? {}),
      link([...words, 'timeline'], 'Its life as one timeline'),
      ...(account.movedFrom === undefined
        ? []
        : [make('p', { className: 'lead', textContent: `${account.movedFrom} moved into this account.` })]),
      make(
        'div',
        { className: 'grid' },
        section('Standing', facts(shown.standing(account)), row(change('ban'), change('unban', state === 'banned'), change('delete'))),
        section('Balance', facts(shown.balance(account)), row(change('adjust'))),
        section(
          'Entitlement',
          facts(shown.entitlement(account)),
          sentences(explained.because),
          row(change('give'), change('take-back', account.gift !== undefined), trial('restart'), trial('restore')),
        ),
        section('Name', name(account), row(change('rename'), change('unname', account.givenName !== undefined))),
      ),
      section(
        'Notes',
        listed(shown.notes, account.notes ?? [], {
          act: ({ id: note }) => changeButton('accounts drop-note', { accountId, note }, asked, `the note ${note}`, 'Remove'),
        }),
        row(change('note')),
      ),
      section(
        'Sign-ins',
        listed(shown.signIns, account.signIns ?? [], {
          act: ({ id, provider }) =>
            changeButton('accounts remove-sign-in', { accountId, signIn: id }, asked, `the sign-in ${id} (${provider})`, 'Remove'),
        }),
      ),
      section('Sessions', sessions(account, asked), row(change('sign-out'))),
      section('Ledger', ledger(page, accountId, words, ledgerFilter, cursor)),
      section(
        'Saves',
        listed(shown.saves, account.saves ?? [], {
          act: ({ game, name: save }) =>
            changeButton('saves bring-back', { accountId, game, name: save }, asked, `the save ${game}/${save}`),
        }),
      ),
      section('Purchases of coins', listed(shown.coinPurchases, account.coinPurchases ?? [])),
      section('Subscriptions', subscriptions(account, asked)),
      make('div', { className: 'grid' }, section('Rooms', listed(shown.seats, account.rooms ?? [])), section('Boards', boards(account))),
      section('What operators did', listed(logEntries, changes)),
      section('Events', events(told, words, eventFilter, query.get('events'))),
    ],
  };
}

const sentences = (all: readonly string[]): HTMLElement =>
  make('ul', { className: 'stack because' }, ...all.map((sentence) => make('li', { textContent: sentence })));

/** The sessions of pairings and of sign-ins with the store. */
function sessions({ accountId, sessions: held }: ShownAccount, asked: Asked): HTMLElement {
  const { listed: open = [], signOutsEverywhere } = held ?? {};
  const named = open.map((session) => ({ ...session, userAgent: browserOf(session.userAgent) }));
  return make(
    'div',
    {},
    listed(shown.sessions, named, {
      act: ({ id }) => changeButton('accounts end-session', { accountId, session: id }, asked, `the session ${id}`, 'End'),
    }),
    signOutsEverywhere === undefined ? '' : make('p', { className: 'hint', textContent: shown.signedOut(signOutsEverywhere) }),
  );
}

function name(account: ShownAccount): HTMLElement {
  if (account.givenName === undefined) return make('p', { className: 'none', textContent: 'The player chooses the name.' });
  return facts(shown.givenName(account));
}

function ledger(
  { entries, nextCursor }: Answer,
  accountId: string,
  words: readonly string[],
  { form, typed }: Filter,
  cursor: string | undefined,
): HTMLElement {
  return make(
    'div',
    {},
    form,
    listed(shown.ledger, entries, {
      ...(nextCursor === undefined ? {} : { none: 'No such entry so far: there may be older entries.' }),
      act: ({ at }) => aroundLink(accountId, at),
    }),
    row(
      cursor === undefined ? '' : link(words, 'Newest', typed),
      nextCursor === undefined ? '' : link(words, 'Older', { ...typed, cursor: nextCursor }),
    ),
  );
}

/** Undefined if the service has no events. */
async function eventsOf(path: string, filter: Filter['sent'], signal: AbortSignal): Promise<Answer | undefined> {
  try {
    return await admin(`${path}/events`, { limit: '20', ...filter }, signal);
  } catch (error) {
    if (error instanceof Failed && error.code === 'event_not_found') return undefined;
    throw error;
  }
}

/**
 * The account's events in the form in which webhooks and readers of the log get them. Only a part of the log is searched, and the section
 * shows which part.
 */
function events(told: Answer | undefined, words: readonly string[], { form, typed }: Filter, cursor: string | null): HTMLElement {
  if (told === undefined) return make('p', { className: 'none', textContent: 'This service keeps no events (EVENTS=off).' });
  const { events: found, nextCursor } = told;
  return make(
    'div',
    {},
    form,
    listed(shown.events, found, nextCursor === undefined ? { none: 'No event of this account is kept.' } : {}),
    make('p', { className: 'hint' }, draw(shown.reach(told))),
    row(
      cursor === null ? '' : link(words, 'Newest events', typed),
      nextCursor === undefined ? '' : link(words, 'Older events', { ...typed, events: nextCursor }),
    ),
  );
}

function subscriptions(account: ShownAccount, asked: Asked): HTMLElement {
  return make(
    'div',
    {},
    facts(shown.subscription(account)),
    listed(shown.subscriptionPurchases, account.purchases ?? [], { act: ({ purchase }) => moveButton(purchase, asked) }),
  );
}

function boards(account: ShownAccount): HTMLElement {
  const { games, more } = shown.otherBoards(account);
  return make(
    'div',
    {},
    listed(shown.scores, account.boards?.scores ?? []),
    make('ul', { className: 'stack because' }, ...games.map((game) => make('li', {}, link(['boards', game], game)))),
    more > 0 ? make('p', { className: 'hint', textContent: `and ${more} more` }) : '',
  );
}
