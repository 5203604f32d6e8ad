import { admin, Failed, mayAct, type Answer, type Operator } from './console-calls.ts';
import { changeButton, daysFor, isoOf, spanTo, timeInput, type Change } from './console-change.ts';
import {
  accountLink,
  chip,
  coins,
  detailsOf,
  facts,
  filterForm,
  input,
  link,
  logTable,
  operatorText,
  section,
  select,
  table,
  time,
  type Asked,
  type Part,
  type Shown,
} from './console-parts.ts';
import { moveButton } from './console-lists.ts';
import { make } from './dom.ts';
import { browserOf } from './user-agent.ts';

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
        section('Standing', standing(account), buttons(change.ban, change.unban, change.delete)),
        section('Balance', balance(account), buttons(change.adjust)),
        section('Entitlement', entitlement(account, because), buttons(change.give, change.takeBack, change.restart, change.restore)),
        section('Name', name(account), buttons(change.rename, change.unname)),
      ),
      section('Sessions', sessions(account, operator, again), buttons(change.signOut)),
      section('Ledger', ledger(account, page, query)),
      section('Purchases of coins', coinPurchases(account)),
      section('Subscriptions', subscriptions(account, operator, again)),
      make('div', { className: 'grid' }, section('Rooms', rooms(account)), section('Boards', boards(account))),
      section('What operators did', logTable(changes)),
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

function standing(account: Answer): HTMLElement {
  const { state, ban } = account;
  return facts([
    ['State', chip(state, state === 'open' ? 'live' : 'waiting')],
    [
      'Banned',
      ban &&
        make(
          'span',
          {},
          'since ',
          time(ban.since),
          ban.until === undefined ? ', without an end' : make('span', {}, ' until ', time(ban.until)),
        ),
    ],
    ['Why', ban?.reason],
    ['Kind', account.kind],
    ['Made (UTC)', account.createdAt && time(account.createdAt)],
    ['Install proven', account.installVerifiedAt && time(account.installVerifiedAt)],
    [
      'Guests that moved in',
      account.guests.length === 0
        ? undefined
        : make('span', {}, ...account.guests.flatMap(({ accountId }: Answer) => [accountLink(accountId), ' '])),
    ],
  ]);
}

/** The sessions of pairings and of sign-ins with the store. */
function sessions({ accountId, sessions: { listed, signOutsEverywhere } }: Answer, operator: Operator, again: () => void): HTMLElement {
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
  return make(
    'div',
    {},
    table(
      'Sessions',
      ['Session', 'Kind', 'Device', 'Since (UTC)', 'Seen (UTC)', 'Ends (UTC)', ''],
      (listed as Answer[]).map((session) => [
        make('span', { className: 'mono', textContent: session.id }),
        session.kind,
        browserOf(session.userAgent),
        time(session.createdAt),
        time(session.lastSeenAt),
        time(session.expiresAt),
        mayAct(operator, 'support') ? end(session.id) : '',
      ]),
      'No session of a pairing or a store is listed. Logins with an installId are not.',
    ),
    make('p', { className: 'hint', textContent: `Signed out everywhere ${signOutsEverywhere} times.` }),
  );
}

function balance(account: Answer): HTMLElement {
  return facts([
    ['Coins', make('strong', { textContent: coins(account.balanceCoins) })],
    ['Debt', account.debtCoins && chip(coins(account.debtCoins), 'waiting')],
    ['Entries', coins(account.ledger.entries)],
    ['Oldest entry', account.ledger.oldestAt && time(account.ledger.oldestAt)],
  ]);
}

function entitlement(account: Answer, because: readonly string[]): HTMLElement {
  const { state, access, expiresAt, source } = account.entitlement;
  const { gift, trial } = account;
  return make(
    'div',
    {},
    facts([
      ['State', make('span', {}, chip(state, access === true ? 'live' : ''), source === 'gift' ? ' a gift' : '')],
      ['Until', expiresAt && time(expiresAt)],
      ['Given', gift && make('span', {}, 'until ', time(gift.until), ` by ${operatorText(gift.by)}: ${gift.reason}`)],
      ['Trial began', trial.startedAt && time(trial.startedAt)],
      ['Device (hash)', trial.device && make('span', { className: 'mono', textContent: trial.device })],
    ]),
    make('ul', { className: 'stack because' }, ...because.map((sentence) => make('li', { textContent: sentence }))),
  );
}

function name({ givenName }: Answer): HTMLElement {
  if (givenName === undefined) return make('p', { className: 'none', textContent: 'The player chooses the name.' });
  return facts([
    ['Given', make('bdi', { textContent: givenName.name })],
    ['At', time(givenName.givenAt)],
    ['By', operatorText(givenName.by)],
    ['Why', givenName.reason],
  ]);
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
  const rows = (entries as Answer[]).map((entry) => [
    time(entry.at),
    entry.type,
    coins(entry.coins),
    coins(entry.balanceAfterCoins),
    entry.key,
    entry.by === undefined ? 'the app' : operatorText(entry.by),
    entry.reason ?? '',
  ]);
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
    table(
      'Ledger',
      ['At (UTC)', 'Type', '#Coins', '#Balance', 'Key', 'By', 'Reason'],
      rows,
      nextCursor === undefined ? 'No such entry.' : 'No such entry so far: older ones may follow.',
    ),
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
function events({ accountId }: Answer, told: Answer | undefined, query: URLSearchParams): HTMLElement {
  if (told === undefined) return make('p', { className: 'none', textContent: 'This service keeps no events (EVENTS=off).' });
  const { events: found, looked, since, nextCursor } = told;
  const words = ['accounts', accountId as string];
  const before = query.get('before') ?? '';
  const reach = make('p', { className: 'hint' });
  if (since === undefined) reach.append('The log has no events there.');
  else reach.append(`Of ${coins(looked)} events of all accounts, back to `, time(since), '.');
  return make(
    'div',
    {},
    filterForm(words, [['Before (UTC)', input('before', before, { type: 'datetime-local' })]]),
    table(
      'Events',
      ['At (UTC)', '#Number', 'Event', 'Data', 'Id'],
      (found as Answer[]).map(({ at, number, type, data, id }) => [
        time(at),
        number === undefined ? '' : String(number),
        type,
        detailsOf(data),
        make('span', { className: 'mono', textContent: id }),
      ]),
      nextCursor === undefined ? 'No event of this account is kept.' : 'No event of this account in this part of the log.',
    ),
    reach,
    make(
      'div',
      { className: 'row' },
      query.get('events') === null ? '' : link(words, 'Newest events', { before }),
      nextCursor === undefined ? '' : link(words, 'Older events', { before, events: nextCursor }),
    ),
  );
}

function coinPurchases({ coinPurchases: purchases }: Answer): HTMLElement {
  return table(
    'Purchases of coins',
    ['At (UTC)', 'Product', 'Order', 'State', '#Coins', '#Taken back', 'Stuck'],
    (purchases as Answer[]).map((purchase) => [
      time(purchase.at),
      link(['purchases', purchase.purchaseId], purchase.productId),
      purchase.orderId,
      purchase.state,
      coins(purchase.coins),
      purchase.takenCoins === 0 ? '' : coins(purchase.takenCoins),
      purchase.stuck === undefined ? '' : chip(purchase.stuck, 'waiting'),
    ]),
    'No coins bought.',
  );
}

function subscriptions({ subscription, purchases }: Answer, operator: Operator, again: () => void): HTMLElement {
  return make(
    'div',
    {},
    facts([
      ['State', subscription.state],
      ['Product', subscription.productId],
      ['Until', subscription.expiresAt && time(subscription.expiresAt)],
      ['Reported by the app', subscription.reportedAt && time(subscription.reportedAt)],
    ]),
    table(
      'Purchases of subscriptions',
      ['Purchase', 'Product', 'State', 'Until', 'Asked last', 'Asked next', '#Failed checks', ''],
      (purchases as Answer[]).map((purchase) => [
        purchase.purchase,
        purchase.productId,
        purchase.state,
        time(purchase.expiresAt),
        time(purchase.checkedAt),
        time(purchase.nextCheckAt),
        String(purchase.failedChecks),
        moveButton(purchase.purchase, operator, again),
      ]),
      'No subscription bought.',
    ),
  );
}

function rooms({ rooms: seats }: Answer): HTMLElement {
  return table(
    'Rooms',
    ['Room', 'Game', 'Phase', 'Seat', 'Name', 'Joined'],
    (seats as Answer[]).map((seat) => [
      link(['rooms', seat.code], seat.code),
      seat.game,
      seat.phase,
      seat.playerId,
      make('bdi', { textContent: seat.name }),
      time(seat.joinedAt),
    ]),
    'No room in two weeks.',
  );
}

function boards({ boards: { count, games, scores } }: Answer): HTMLElement {
  const rows = (scores as Answer[]).map(({ game, score, rank, name: shownName, at }) => [
    link(['boards', game], game),
    String(score),
    rank === undefined ? chip('hidden', 'waiting') : String(rank),
    make('bdi', { textContent: shownName }),
    time(at),
  ]);
  const others = (games as string[]).filter((game) => !(scores as Answer[]).some((score) => score.game === game));
  return make(
    'div',
    {},
    table('Best scores', ['Board', '#Score', '#Rank', 'Name', 'At (UTC)'], rows, 'No score.'),
    make('ul', { className: 'stack because' }, ...others.map((game) => make('li', {}, link(['boards', game], game)))),
    count > games.length ? make('p', { className: 'hint', textContent: `and ${count - games.length} more` }) : '',
  );
}
