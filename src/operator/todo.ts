import { z } from 'zod';
import { BACKGROUND_AUDIT_KEY } from '../consistency/background.ts';
import { HOUR_MS } from '../features/numbers/model.ts';
import { readRefusals } from '../features/numbers/read-numbers.ts';
import { stuckPurchases } from '../features/purchases/coins/find-purchase.ts';
import { stuckIn } from '../features/purchases/coins/operator-purchase.ts';
import { unownedPurchases } from '../features/purchases/subscription/operator-purchases.ts';
import { readHash } from '../redis/reads.ts';
import { Parts } from '../redis/unreadable.ts';
import { mayAct } from '../server/identity/roles.ts';
import { PERSON_ID } from '../server/identity/people.ts';
import { ServerKeyChanges } from '../server/identity/server-key-changes.ts';
import { TodoItem } from './numbers-shapes.ts';
import { operation, type Operator, type OperatorServices } from './operation.ts';
import { minute, table } from './shown/cells.ts';
import { todoItems } from './shown/shown-numbers.ts';
import { readRequests } from './two-person/requests.ts';
import { shownWhole } from './webhook-facts.ts';

type Item = z.input<typeof TodoItem>;

/** The service handles an unfinished purchase within minutes, so a purchase that is older needs a person. In milliseconds. */
const STUCK_MS = 15 * 60_000;

/** The store refunds a subscription without an owner. This long before, a person may still find the owner. In milliseconds. */
const UNOWNED_MS = 24 * HOUR_MS;

/** Twice the longest sensible AUDIT_EVERY_HOURS. In milliseconds. */
const AUDIT_OLD_MS = 8 * 24 * HOUR_MS;

/** Time to give a new key to all servers. In milliseconds. */
const KEY_ENDS_MS = 14 * 24 * HOUR_MS;

/** A refusal rises if an hour has this many times as many as an hour of the day before has on average, and at least FEWEST_RISING. */
const RISING = 3;
const FEWEST_RISING = 100;
const HOURS_BEFORE = 24;

/** The most items of one kind. */
const MOST_OF_A_KIND = 10;

export const listTodo = operation({
  name: 'todo list',
  method: 'GET',
  path: '/v1/admin/todo',
  operationId: 'listTodo',
  role: 'viewer',
  costly: true,
  summary: 'What needs a person: stuck purchases, failing webhooks, findings of the audit, refusals that rise, keys that end soon.',
  description:
    'A purchase counts as stuck 15 minutes after it was recorded, if its coins are not granted, or the store does not know of the grant. A ' +
    `refusal counts as rising if this hour or the last has at least ${FEWEST_RISING} requests refused with its code, and at least ${RISING} times as many as ` +
    `an hour had on average in the ${HOURS_BEFORE} hours before. Keys are shown to an \`admin\` only.`,
  input: z.object({}),
  reply: z.object({ items: z.array(TodoItem) }),
  example: `curl -s $base/v1/admin/todo -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ items }) => [table(todoItems, items)],
  async prepare(_, services, operator) {
    const parts = new Parts();
    const found = await Promise.all([
      parts.read('queue of purchases of coins', () => purchases(services, parts)),
      parts.read('queue of subscriptions without an owner', () => subscriptions(services, parts)),
      parts.read('webhooks', () => webhooks(services, parts)),
      parts.read('result of the audit', () => audit(services)),
      parts.read('refusals', () => refusals(services)),
      parts.read('server keys', () => keys(services, operator)),
      parts.read('requests', () => requests(services, operator)),
    ]);
    return { reply: { items: found.flatMap((items) => items ?? []), unreadable: parts.unreadable } };
  },
});

async function purchases({ scripts, now }: OperatorServices, parts: Parts): Promise<Item[]> {
  const stuck = (await stuckPurchases(scripts, parts)).filter(
    ({ document }) => stuckIn(document) !== 'unpaid' && now() - document.at > STUCK_MS,
  );
  if (stuck.length === 0) return [];
  const [unbooked, oldest] = [
    stuck.filter(({ document }) => stuckIn(document) === 'unbooked').length,
    stuck.reduce((least, { document }) => Math.min(least, document.at), Infinity),
  ];
  return [
    {
      kind: 'purchase_stuck',
      what: stuck.length === 1 ? '1 purchase is stuck' : `${stuck.length} purchases are stuck`,
      details: `${unbooked} without their coins, the oldest since ${at(oldest)}.`,
      view: ['purchases'],
    },
  ];
}

async function subscriptions({ scripts, now }: OperatorServices, parts: Parts): Promise<Item[]> {
  const unowned = await unownedPurchases(scripts, parts);
  const soon = unowned.filter(({ refundAt }) => refundAt !== undefined && Date.parse(refundAt) - now() < UNOWNED_MS);
  if (soon.length === 0) return [];
  return [
    {
      kind: 'subscription_unowned',
      what: soon.length === 1 ? '1 subscription has no owner' : `${soon.length} subscriptions have no owner`,
      details: `The store refunds the first at ${at(Date.parse(soon[0]!.refundAt!))}.`,
      view: ['purchases'],
    },
  ];
}

async function webhooks(services: OperatorServices, parts: Parts): Promise<Item[]> {
  const hooks = await services.hooks.list(parts);
  const shown = await parts.readEach(
    hooks,
    ({ id }) => `webhook ${id}`,
    (hook) => shownWhole(hook, services, parts),
  );
  return shown.flatMap(({ id, disabledBy, state, failing, delivering, waitingAccounts, lastFailure }): Item[] => {
    const item = (what: string, details: string): Item[] => [{ kind: 'webhook_failing', what, details, view: ['webhooks', id] }];
    if (disabledBy === 'gone') return item(`Webhook ${id} was ended by its endpoint`, 'The endpoint answered 410.');
    if (state === 'disabled') return [];
    if (!delivering) return item(`Webhook ${id} is not delivered`, 'No process of the service delivers its events.');
    if (failing !== true) return [];
    const why =
      lastFailure === undefined ? '' : `: ${lastFailure.status ?? lastFailure.error ?? ''}, last at ${at(Date.parse(lastFailure.at))}`;
    return item(`Webhook ${id} fails`, `${waitingAccounts} ${waitingAccounts === 1 ? 'account waits' : 'accounts wait'}${why}.`);
  });
}

async function audit({ scripts, now }: OperatorServices): Promise<Item[]> {
  const { findings, endedAt } = Object.fromEntries(await readHash(scripts, BACKGROUND_AUDIT_KEY)) as Readonly<Record<string, string>>;
  if (endedAt === undefined) return [];
  const ended = `The audit ended at ${at(Number(endedAt))}.`;
  if (Number(findings) > 0) {
    const what = `The audit has ${findings === '1' ? '1 finding' : `${findings} findings`}`;
    return [{ kind: 'audit_findings', what, details: `${ended} npm run audit lists them.`, view: ['health'] }];
  }
  if (now() - Number(endedAt) < AUDIT_OLD_MS) return [];
  return [{ kind: 'audit_old', what: 'The last audit is old', details: ended, view: ['health'] }];
}

async function refusals({ scripts, now }: OperatorServices): Promise<Item[]> {
  const hour = Math.floor(now() / HOUR_MS);
  const [ofThis = new Map<string, number>(), ofLast = new Map<string, number>(), ...before] = await readRefusals(
    scripts,
    hour,
    HOURS_BEFORE + 2,
  );
  return [...new Set([...ofThis.keys(), ...ofLast.keys()])]
    .map((code) => {
      const most = Math.max(ofThis.get(code) ?? 0, ofLast.get(code) ?? 0);
      const usual = before.reduce((sum, counts) => sum + (counts.get(code) ?? 0), 0) / HOURS_BEFORE;
      return { code, most, usual };
    })
    .filter(({ most, usual }) => most >= FEWEST_RISING && most >= RISING * usual)
    .toSorted((one, other) => other.most - one.most)
    .slice(0, MOST_OF_A_KIND)
    .map(({ code, most, usual }) => ({
      kind: 'refusals_rising',
      what: `More requests are refused with ${code}`,
      details: `${most} in an hour; ${usual < 10 ? usual.toFixed(1) : Math.round(usual)} an hour before.`,
      view: ['health'],
    }));
}

async function keys({ scripts, now }: OperatorServices, { role }: Operator): Promise<Item[]> {
  if (!mayAct(role, 'admin')) return [];
  const listed = await new ServerKeyChanges(scripts, now).list();
  const replaced = new Set(listed.flatMap(({ replaces }) => replaces ?? []));
  return listed
    .filter(
      ({ state, expiresAt, id }) => state === 'valid' && expiresAt !== undefined && expiresAt - now() < KEY_ENDS_MS && !replaced.has(id),
    )
    .toSorted((one, other) => one.expiresAt! - other.expiresAt!)
    .slice(0, MOST_OF_A_KIND)
    .map(({ id, name, expiresAt }) => ({
      kind: 'key_ending',
      what: `The key ${id} ends soon`,
      details: `“${name}” ends at ${at(expiresAt!)}.`,
      view: ['keys'],
    }));
}

/** Only people who sign in to the console approve requests. */
async function requests(services: OperatorServices, { by }: Operator): Promise<Item[]> {
  if (!PERSON_ID.test(by)) return [];
  const waiting = (await readRequests(services)).filter(
    (request) => request.by !== by && request.answer === undefined && services.now() < request.endsAt,
  );
  if (waiting.length === 0) return [];
  const what = waiting.length === 1 ? '1 request waits for a second person' : `${waiting.length} requests wait for a second person`;
  return [{ kind: 'request_waiting', what, details: `The newest: ${waiting[0]!.reason}.`, view: ['requests'] }];
}

const at = (milliseconds: number): string => `${minute(new Date(milliseconds).toISOString())} UTC`;
