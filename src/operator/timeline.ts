import { z } from 'zod';
import { Refusal } from '../errors.ts';
import { searchLedger } from '../features/coins/operator-history.ts';
import { followed } from './account-facts.ts';
import { Answering, type ShownAccount } from './account-reply.ts';
import { searchLog } from './log-filter.ts';
import { Account } from './named-accounts.ts';
import { operation, type Operator, type OperatorServices } from './operation.ts';
import { Parts } from '../redis/unreadable.ts';
import { readableReply } from './unreadable.ts';
import { Limit, limitOf } from './page-limit.ts';
import { show } from './show-account.ts';
import { isIn, spanFields, spanOf, type Span } from './span.ts';
import { detailsOf, table } from './shown/cells.ts';
import { headOf, typeText } from './shown/shown-account.ts';
import { timeline as shown, TIMELINE_KINDS } from './shown/shown-timeline.ts';

const Moment = z
  .object({
    at: z.iso.datetime(),
    kind: z.enum(TIMELINE_KINDS).meta({
      description:
        '`coins`: an entry of the ledger. `operator`: an act of an operator. `event`: an event, without those of coins. The others: what the ' +
        'account has now, at the time at which it began or ended.',
    }),
    text: z.string(),
    coins: z.number().int().optional(),
    balanceAfterCoins: z.number().int().optional(),
    by: z.string().optional(),
  })
  .meta({
    id: 'TimelineMoment',
    example: { at: '2026-11-22T12:00:00.000Z', kind: 'coins', text: 'credit won', coins: 50, balanceAfterCoins: 110 },
  });

type Moment = z.output<typeof Moment>;

/** Some of the moments, and the time before which older moments may be missing. */
interface Source {
  readonly moments: readonly Moment[];
  readonly missingBefore?: string | undefined;
}

export const showTimeline = operation({
  name: 'accounts timeline',
  method: 'GET',
  path: '/v1/admin/accounts/{accountId}/timeline',
  operationId: 'showAccountTimeline',
  role: 'viewer',
  costly: true,
  summary: 'All that happened to an account in one list, newest first: coins, purchases, sessions, bans, changes by operators, events.',
  description:
    'Each source is searched as by its own operation. A page ends where one of them may have more, and `nextTo` is the `to` of the next ' +
    'page. A page may be short, or empty, and still have one. Events are those that the log still keeps (EVENTS_DAYS).',
  input: z.object({
    accountId: Account,
    ...spanFields('Moments'),
    kind: z.enum(TIMELINE_KINDS).optional().meta({ description: 'Moments of this kind.' }),
    limit: Limit,
  }),
  reply: z.object({
    ...Answering,
    moments: z.array(Moment),
    nextTo: z.string().optional().meta({ description: 'The `to` of the next page. Left out: there is nothing older in the span.' }),
  }),
  errors: ['account_not_found', 'account_deleted'],
  example: `curl -s "$base/v1/admin/accounts/BQ5v1mHk2nYtZ8cXw0aLpR/timeline?from=2026-11-22T10:00:00Z&to=2026-11-22T10:05:00Z" -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ accountId, movedFrom, moments, nextTo }) => [
    headOf(accountId, movedFrom),
    table(shown, moments),
    ...(nextTo === undefined ? [] : [`There may be more: --to ${nextTo}`]),
  ],
  async prepare({ accountId: asked, kind, limit: most, ...times }, services, operator) {
    const parts = new Parts();
    const account = await followed(asked, services, parts);
    if (account instanceof Refusal) return account;
    const { accountId, movedFrom, standing } = account;
    const [span, limit] = [spanOf(times), limitOf(most)];
    const wants = (one: Moment['kind']): boolean => kind === undefined || kind === one;
    // The sources are read one after the other. Together they would be one batch, and Redis would serve nobody else for 20 ms.
    const owners = [accountId, ...standing.guests.map(({ id }) => id)];
    const sources = [
      wants('coins') ? await parts.read('ledger', () => coinsOf(accountId, span, limit, services, parts)) : NOTHING,
      wants('operator') ? await actsOf(accountId, times, limit, services, operator, parts) : NOTHING,
      wants('event') ? await parts.read('events', () => eventsOf(owners, span, services)) : NOTHING,
      kind === undefined || !['coins', 'operator', 'event'].includes(kind) ? await factsOf(asked, services, operator, parts) : NOTHING,
    ].filter((source) => source !== undefined);
    // Back to this time every source has given all its moments.
    const whole = sources.reduce((latest, { missingBefore = '' }) => (missingBefore > latest ? missingBefore : latest), '');
    const all = sources
      .flatMap(({ moments }) => moments)
      .filter((moment) => wants(moment.kind) && isIn(span, moment.at) && moment.at >= whole)
      .toSorted((one, other) => (one.at < other.at ? 1 : one.at > other.at ? -1 : 0));
    // Moments of the same millisecond stay on one page, because the next page begins before this millisecond.
    const last = all[limit - 1]?.at;
    const moments = last === undefined ? all : all.filter(({ at }) => at >= last);
    const next = moments.length < all.length ? last : whole === '' ? undefined : whole;
    // The log of events may have moments that are newer than the end of the span. The next page begins earlier in any case.
    const nextTo = next === undefined ? undefined : new Date(Math.min(Date.parse(next), (span.to ?? Infinity) - 1)).toISOString();
    return { reply: { accountId, movedFrom, moments, ...(nextTo === undefined ? {} : { nextTo }), unreadable: parts.unreadable } };
  },
});

const NOTHING: Source = { moments: [] };

async function coinsOf(accountId: string, { from, to }: Span, limit: number, { scripts }: OperatorServices, parts: Parts): Promise<Source> {
  const { entries, nextCursor } = await searchLedger(accountId, { from, to }, '', limit, scripts, parts);
  return {
    moments: entries.map(({ at, type, key, coins, balanceAfterCoins, by, reason }) => ({
      ...{ at, kind: 'coins' as const, coins, balanceAfterCoins, by },
      text: `${typeText({ type, coins })} ${key}${reason === undefined ? '' : `: ${reason}`}`,
    })),
    missingBefore: nextCursor === undefined ? undefined : (entries.at(-1)?.at ?? isoOf(to)),
  };
}

async function actsOf(
  account: string,
  times: { readonly from?: string | undefined; readonly to?: string | undefined },
  limit: number,
  services: OperatorServices,
  { isGone }: Operator,
  parts: Parts,
): Promise<Source> {
  const { entries, next } = await searchLog({ account, ...times }, 0, limit, services, isGone ?? (() => false), parts);
  const moments = entries.map(({ at, by, action, what, why, outcome }): Moment => {
    const { account: _, ...others } = what;
    const details = detailsOf(others);
    return {
      ...{ at: isoOf(at), kind: 'operator', by },
      text: `${action} ${details}${details === '' ? '' : ' '}(${String(outcome?.word ?? 'not known')})${why === '' ? '' : `: ${why}`}`,
    };
  });
  return { moments, missingBefore: next === undefined ? undefined : (moments.at(-1)?.at ?? isoOf(spanOf(times).to)) };
}

/** The most events of the account that one page reads, those of coins included. */
const MOST_EVENTS = 500;

/** Events of coins are left out, because the ledger has them with more figures. */
async function eventsOf(owners: readonly string[], { from, to }: Span, { events: log }: OperatorServices): Promise<Source> {
  if (log === undefined) return NOTHING;
  const before = to === undefined ? undefined : await log.positionAfter(to);
  const { events, since, next } = await log.readBack(owners, MOST_EVENTS, before);
  const oldest = events.length < MOST_EVENTS ? since : events.at(-1)?.at;
  const isWhole = next === 0 || oldest === undefined || (from !== undefined && Date.parse(oldest) < from);
  return {
    moments: events
      .filter(({ type }) => type !== 'coins.changed')
      .map(({ at, type, data }) => ({ at, kind: 'event', text: `${type} ${detailsOf(data)}`.trim() })),
    missingBefore: isWhole ? undefined : oldest,
  };
}

/** The data that the account has now, by their times. */
async function factsOf(accountId: string, services: OperatorServices, operator: Operator, parts: Parts): Promise<Source> {
  const prepared = await show.prepare({ accountId } as never, services, operator);
  if (prepared instanceof Refusal || !('reply' in prepared)) return NOTHING;
  const of: ShownAccount & { readonly unreadable?: readonly string[] } = readableReply(show.reply, prepared.reply) as never;
  for (const name of of.unreadable ?? []) parts.note(name);
  const moments: Moment[] = [];
  const add = (at: string | undefined, kind: Moment['kind'], text: string, more: Partial<Moment> = {}): void => {
    if (at !== undefined) moments.push({ at, kind, text, ...more });
  };
  add(of.createdAt, 'account', 'created');
  add(of.firstRunAt, 'account', 'first run');
  add(of.installVerifiedAt, 'account', 'install proven');
  add(of.ban?.since, 'account', `banned${of.ban?.until === undefined ? '' : ` until ${of.ban.until}`}: ${of.ban?.reason ?? ''}`);
  for (const { at, by, reason, text } of of.notes ?? []) add(at, 'note', `${text} (${reason})`, { by });
  for (const { provider, id, lastUsedAt } of of.signIns ?? []) add(lastUsedAt, 'session', `last sign-in with ${provider} ${id}`);
  for (const { createdAt, lastSeenAt, kind, id, userAgent = '' } of of.sessions?.listed ?? []) {
    add(createdAt, 'session', `session ${id} by ${kind} begins ${userAgent}`.trim());
    add(lastSeenAt, 'session', `session ${id} last seen`);
  }
  add(of.trial?.startedAt, 'access', 'trial begins');
  add(of.trial?.expiresAt, 'access', 'trial ends');
  add(of.gift?.until, 'access', 'given access ends', { by: of.gift?.by });
  for (const { at, grantedAt, refundedAt, productId, purchaseId, coins, takenCoins } of of.coinPurchases ?? []) {
    add(at, 'purchase', `bought ${productId} ${purchaseId}`);
    add(grantedAt, 'purchase', `booked ${productId} ${purchaseId}: ${coins} coins`);
    add(refundedAt, 'purchase', `last refund of ${productId} ${purchaseId}: ${takenCoins ?? 0} coins taken back`);
  }
  for (const { expiresAt, productId, state } of of.purchases ?? [])
    add(expiresAt, 'access', `subscription ${productId ?? ''} (${state}) until then`);
  for (const { joinedAt, code, game } of of.rooms ?? [])
    add(joinedAt, 'game', `joined the room ${code}${game === undefined ? '' : ` of ${game}`}`);
  for (const { at, game, score } of of.boards?.scores ?? []) add(at, 'game', `best score on ${game}: ${score}`);
  for (const { updatedAt, game, name } of of.saves ?? []) add(updatedAt, 'game', `save ${game}/${name}`);
  return { moments };
}

const isoOf = (at: number | undefined): string => new Date(at ?? Date.now()).toISOString();
