import { admin, call, type Answer } from './console-calls.ts';
import { changeButton } from './console-change.ts';
import { filterOf } from './console-fields.ts';
import {
  addressForm,
  button,
  chip,
  coins,
  download,
  facts,
  hashOf,
  input,
  link,
  listed,
  row,
  section,
  time,
  type Asked,
  type Part,
  type Shown,
  damaged,
} from './console-parts.ts';
import { listed as accountsShown, looked } from '../../shown/shown-account.ts';
import { archivesOf, entries, seasonsOf } from '../../shown/shown-boards.ts';
import { logEntries } from '../../shown/shown-log.ts';
import { life, lifeOf, purchaseFacts, stuckPurchases, unownedSubscriptions } from '../../shown/shown-purchases.ts';
import { make } from '../../../web/browser/dom.ts';

/** The boards of the catalogue, and a form for any other board. */
export async function boardsView({ operator, signal }: Asked): Promise<Shown> {
  const { apps } = await call('/v1/catalogue', { signal });
  const games = (apps as Answer[]).map(({ id }) => id as string).filter((id) => operator.game === undefined || id === operator.game);
  const named = input('game', '', { required: true, pattern: '[a-z0-9\\-]{1,64}' });
  const form = addressForm([['Another game', named]], () => hashOf(['boards', named.value.trim()]));
  return {
    title: 'Boards',
    parts: [
      section(
        'Games of the catalogue',
        make('ul', { className: 'stack because' }, ...games.map((game) => make('li', {}, link(['boards', game], game)))),
      ),
      form,
    ],
  };
}

const PAGE = 20;

export async function boardView(asked: Asked): Promise<Shown> {
  const {
    words: [game = ''],
    query,
    signal,
  } = asked;
  const path = `/boards/${encodeURIComponent(game)}`;
  const from = Math.max(1, Number(query.get('from')) || 1);
  const [season, archive] = [query.get('season') ?? '', query.get('archive') ?? ''];
  const page = { from: String(from), to: String(from + PAGE - 1), season: archive === '' ? season : '', archive };
  const [board, ofSeasons] = await Promise.all([admin(path, page, signal), admin(`${path}/seasons`, {}, signal)]);
  const words = ['boards', game];
  const isOpen = archive === '';
  const remove = ({ playerId, name }: Answer): Part =>
    isOpen ? changeButton('boards remove', { game, player: playerId }, asked, `the entry of ${name}`) : '';
  const pages = make(
    'div',
    { className: 'row' },
    from > 1 ? link(words, 'Higher places', { season, archive, from: String(Math.max(1, from - PAGE)) }) : '',
    from + PAGE <= board.count ? link(words, 'Lower places', { season, archive, from: String(from + PAGE) }) : '',
  );
  return {
    title: `Board of ${game}`,
    parts: [
      ...damaged(board, ofSeasons),
      section(
        archive !== '' ? `Archive ${archive}` : board.season === undefined ? 'All time' : `Season ${board.season.id ?? board.season}`,
        make('p', {
          className: 'hint',
          textContent: board.count === 1 ? '1 entry' : `${board.count === undefined ? '?' : coins(board.count)} entries`,
        }),
        listed(entries, board.entries, { act: remove }),
        pages,
        isOpen && board.count > 0 ? changeButton('boards reset', { game }, asked) : '',
      ),
      section('Seasons', link(words, 'All time', { season: 'all' }), listed(seasonsOf(game), ofSeasons.seasons)),
      section('Archives', listed(archivesOf(game), board.archives, { act: (archive: Answer) => dropButton(game, archive, asked) })),
    ],
  };
}

function dropButton(game: string, { archive, droppedAt }: Answer, asked: Asked): Part {
  return droppedAt === undefined ? changeButton('boards drop', { game, archive }, asked) : make('span', {}, 'dropped ', time(droppedAt));
}

/** Accounts by kind, ban, debt and days. The service searches all accounts in parts, so a short page may have a next page. */
export async function accountsView(asked: Asked): Promise<Shown> {
  const { query, signal } = asked;
  const { form, sent, typed } = filterOf('accounts list', ['accounts'], asked);
  const {
    accounts,
    looked: count,
    nextCursor,
  } = await admin('/accounts', { ...sent, limit: '50', cursor: query.get('cursor') ?? undefined }, signal);
  return {
    title: 'Accounts',
    parts: [
      form,
      section(
        'Found',
        listed(accountsShown, accounts),
        make('p', { className: 'hint', textContent: looked(count) }),
        nextCursor === undefined ? '' : link(['accounts'], 'Further', { ...typed, cursor: nextCursor }),
      ),
    ],
  };
}

export async function purchasesView(asked: Asked): Promise<Shown> {
  const { signal } = asked;
  const answer = await admin('/purchases', {}, signal);
  const { purchases, subscriptions } = answer;
  const named = input('purchase', '', { required: true, placeholder: 'GPA.…' });
  const form = addressForm([['A purchase, by its order number', named]], () => hashOf(['purchases', named.value.trim()]));
  return {
    title: 'Purchases',
    parts: [
      form,
      ...damaged(answer),
      section('Stuck', listed(stuckPurchases, purchases)),
      section(
        'Subscriptions without an owner',
        make('p', {
          className: 'hint',
          textContent: 'The first account that sends the token gets the subscription. Otherwise the store refunds it.',
        }),
        listed(unownedSubscriptions, subscriptions, { act: ({ purchase }) => moveButton(purchase, asked) }),
      ),
    ],
  };
}

/** Gives a purchase, with its coins, to the buyer's account. */
export const moveButton = (purchase: string, asked: Asked): Part =>
  changeButton('purchases move', { purchase }, asked, `the purchase ${purchase}`);

/** A purchase with its history. */
export async function purchaseView(asked: Asked): Promise<Shown> {
  const {
    words: [id = ''],
    signal,
  } = asked;
  const path = `/purchases/${encodeURIComponent(id)}`;
  const answer = await admin(path, {}, signal);
  const { purchase } = answer;
  return {
    title: `Purchase ${purchase.orderId ?? purchase.purchaseId}`,
    parts: [
      ...damaged(answer),
      section(
        'What it is',
        facts(purchaseFacts(purchase)),
        row(moveButton(id, asked), changeButton('purchases look', { purchase: id }, asked)),
      ),
      section('Its life', listed(life, lifeOf(purchase))),
    ],
  };
}

export async function logView(view: Asked): Promise<Shown> {
  const { query, signal } = view;
  const { form, sent: asked, typed } = filterOf('log list', ['log'], view);
  const answer = await admin('/log', { ...asked, limit: '50', cursor: query.get('cursor') ?? undefined }, signal);
  const { entries: changes, nextCursor } = answer;
  const said = make('span', { className: 'hint' });
  said.setAttribute('role', 'status');
  return {
    title: 'Log',
    parts: [
      form,
      ...damaged(answer),
      make(
        'div',
        { className: 'row' },
        button('Export as CSV', () => void exportLog(asked, said)),
        said,
      ),
      section(
        'Changes',
        listed(logEntries, changes, nextCursor === undefined ? {} : { none: 'No such change so far: there may be older changes.' }),
      ),
      make(
        'div',
        { className: 'row' },
        query.get('cursor') === null ? '' : link(['log'], 'Newest', typed),
        nextCursor === undefined ? '' : link(['log'], 'Older', { ...typed, cursor: nextCursor }),
      ),
    ],
  };
}

async function exportLog(asked: Readonly<Record<string, string | undefined>>, said: HTMLElement): Promise<void> {
  try {
    let [csv, count] = ['', 0];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const part: Answer = await admin('/log/export', { ...asked, cursor: cursor === '' ? undefined : cursor });
      csv += part.csv as string;
      count += part.entries as number;
      cursor = part.nextCursor as string | undefined;
      said.textContent = `${coins(count)} changes …`;
    }
    download('operators.csv', csv);
    said.textContent = `${coins(count)} changes in operators.csv.`;
  } catch (error) {
    said.textContent = (error as Error).message;
  }
}

const FIGURES: Readonly<Record<string, string>> = {
  coinop_http_requests_in_flight: 'Requests in flight',
  coinop_live_sockets: 'Open WebSockets',
  coinop_accounts_created_total: 'Accounts made since the start',
  coinop_coins_in_total: 'Coins that came in since the start',
  coinop_coins_out_total: 'Coins that went out since the start',
  coinop_debt_coins: 'Coins owed',
  coinop_purchases_overdue_total: 'Purchases checked too late',
  coinop_account_deletions_waiting: 'Deletions under way',
  coinop_redis_memory_used_bytes: 'Memory of Redis, bytes',
  coinop_redis_memory_max_bytes: 'Its bound, bytes',
};

export async function figuresView({ signal }: Asked): Promise<Shown> {
  const { ready, problem, version, revision, audit, figures } = await call('/console/figures', { signal });
  return {
    title: 'Health',
    parts: [
      section(
        'Service',
        facts([
          ['State', chip(ready === true ? 'ready' : 'not ready', ready === true ? 'live' : 'waiting')],
          ['Problem', problem],
          ['Version', `${version}, ${revision}`],
        ]),
      ),
      section(
        'Last audit of all data',
        audit === undefined
          ? make('p', {
              className: 'none',
              textContent: 'This process knows of no audit: AUDIT_EVERY_HOURS plans audits, and npm run audit runs one.',
            })
          : facts([
              ['Ended (UTC)', time(audit.endedAt)],
              ['Findings', chip(String(audit.findings), audit.findings === 0 ? 'live' : 'waiting')],
              ['Seconds', String(Math.round(audit.seconds))],
            ]),
      ),
      section('Figures', facts((figures as Answer[]).map(({ name, value }) => [FIGURES[name] ?? name, coins(value)]))),
    ],
  };
}
