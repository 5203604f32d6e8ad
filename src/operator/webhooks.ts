import { z } from 'zod';
import { isoTime } from '../accounts/merge-rules.ts';
import { invalid, refuse, Refusal } from '../errors.ts';
import { EVENT_TYPES } from '../features/events/model.ts';
import { findEvent } from '../features/webhooks/find-event.ts';
import { placeOf } from '../features/webhooks/hook-url.ts';
import type { ListedHook } from '../features/webhooks/hooks.ts';
import { ALL_FAILED, KEPT_ATTEMPTS, MOST_HOOKS } from '../features/webhooks/model.ts';
import { Parts } from '../redis/unreadable.ts';
import { limitParameter } from '../server/http/endpoint.ts';
import { operation, type OperatorServices } from './operation.ts';
import { changesOf, OptionalReason } from './subject-change.ts';
import { minute, table, type Part } from './shown/cells.ts';
import { deliveries as shownDeliveries, webhookFacts, webhooks as shownWebhooks } from './shown/shown-webhooks.ts';
import { Delivery, HookId, HookUrl, recordOf, shownHook, shownWhole, Webhook } from './webhook-facts.ts';

const Types = z
  .array(z.enum(EVENT_TYPES, { error: `Must be types of events: ${EVENT_TYPES.join(', ')}` }))
  .min(1)
  .max(EVENT_TYPES.length)
  .meta({ description: 'Types of the events that are sent. Left out: all types.', example: ['coins.changed', 'account.deleted'] });

/** Minutes of 30 days. */
const MOST_OVERLAP_MINUTES = 43_200;

/** The default is a day, so that there is time to give the new secret to all receivers. */
const OVERLAP_MINUTES = 1440;

const NOT_RELAYED = 'No process carries events: EVENTS is off, or the service does not run. Until it runs with EVENTS=on, nothing is sent.';

const exampleOf = (path: string, body: object): string =>
  `curl -s $base/v1/admin/webhooks${path} -H "authorization: Bearer $COINOP_KEY" -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;

const secretParts = (secret: string): string[] => ['Secret, shown once:', `    ${secret}`];

const partsOf = (hook: z.output<typeof Webhook>): Part[] => [`Webhook ${hook.id}`, { title: '', facts: webhookFacts(hook) }];

const find = async (id: string, { hooks }: OperatorServices, parts?: Parts) => (await hooks.find(id, parts)) ?? refuse('webhook_not_found');

/** Declares a change of a webhook. */
const hookChange = changesOf({
  group: 'webhooks',
  field: 'id',
  shape: HookId,
  sample: 'k3v9x0ab',
  reason: OptionalReason,
  errors: ['webhook_not_found'],
  find,
  what: ({ id }: ListedHook) => ({ id }),
});

export const listWebhooks = operation({
  name: 'webhooks list',
  method: 'GET',
  path: '/v1/admin/webhooks',
  operationId: 'listWebhooks',
  role: 'viewer',
  summary: 'All webhooks, the oldest first.',
  input: z.object({}),
  reply: z.object({ webhooks: z.array(Webhook) }),
  example: `curl -s $base/v1/admin/webhooks -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ webhooks }) => [table(shownWebhooks, webhooks)],
  async prepare(_, services) {
    const parts = new Parts();
    const hooks = (await parts.read('webhooks', () => services.hooks.list(parts))) ?? [];
    const webhooks = await parts.readEach(
      hooks,
      ({ id }) => `webhook ${id}`,
      (hook) => shownWhole(hook, services, parts),
    );
    return { reply: { webhooks, unreadable: parts.unreadable } };
  },
});

export const showWebhook = operation({
  name: 'webhooks show',
  method: 'GET',
  path: '/v1/admin/webhooks/{id}',
  operationId: 'showWebhook',
  role: 'viewer',
  summary: 'A webhook. Its secret is never shown again.',
  input: z.object({ id: HookId }),
  reply: z.object({ webhook: Webhook.optional().meta({ description: 'Left out if its data is damaged.' }) }),
  errors: ['webhook_not_found'],
  example: `curl -s $base/v1/admin/webhooks/k3v9x0ab -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ webhook }) => (webhook === undefined ? [] : partsOf(webhook)),
  async prepare({ id }, services) {
    const parts = new Parts();
    const hook = await parts.read(`webhook ${id}`, () => find(id, services, parts));
    if (hook instanceof Refusal && parts.unreadable.length === 0) return hook;
    const webhook =
      hook === undefined || hook instanceof Refusal
        ? undefined
        : await parts.read(`webhook ${id}`, () => shownWhole(hook, services, parts));
    return { reply: { webhook, unreadable: parts.unreadable } };
  },
});

export const listDeliveries = operation({
  name: 'webhooks deliveries',
  method: 'GET',
  path: '/v1/admin/webhooks/{id}/deliveries',
  operationId: 'listWebhookDeliveries',
  role: 'viewer',
  summary: 'The last attempts to deliver events to a webhook, the newest first.',
  description: `The last ${KEPT_ATTEMPTS} successful and the last ${KEPT_ATTEMPTS} failed attempts are kept.`,
  input: z.object({
    id: HookId,
    limit: limitParameter(2 * KEPT_ATTEMPTS, `Attempts, 1 to ${2 * KEPT_ATTEMPTS}. The default is ${KEPT_ATTEMPTS}.`),
  }),
  reply: z.object({ deliveries: z.array(Delivery) }),
  errors: ['webhook_not_found'],
  example: `curl -s $base/v1/admin/webhooks/k3v9x0ab/deliveries -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ deliveries }) => [table(shownDeliveries, deliveries)],
  async prepare({ id, limit }, services) {
    const parts = new Parts();
    const hook = await parts.read(`webhook ${id}`, () => find(id, services, parts));
    if (hook instanceof Refusal && parts.unreadable.length === 0) return hook;
    const attempts = await services.hooks.attempts(id, Number(limit ?? KEPT_ATTEMPTS), parts);
    return {
      reply: {
        deliveries: attempts.map(({ position: _, at, nextAt, ...attempt }) => ({ ...attempt, at: isoTime(at)!, nextAt: isoTime(nextAt) })),
        unreadable: parts.unreadable,
      },
    };
  },
});

export const addWebhook = operation({
  name: 'webhooks add',
  method: 'POST',
  path: '/v1/admin/webhooks',
  words: ['url'],
  operationId: 'addWebhook',
  title: 'Add a webhook',
  role: 'admin',
  handsOutSecret: true,
  summary: 'Adds a webhook, and shows its secret once.',
  description:
    'It gets all later events. The secret signs each request by the Standard Webhooks specification. The operator of the endpoint learns ' +
    'what happens to all accounts.',
  input: z.object({ url: HookUrl, types: Types.optional(), reason: OptionalReason }),
  reply: z.object({
    id: HookId,
    secret: z.string().meta({ description: 'Shown once.', example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw1M2n3O4p5Q6=' }),
    webhook: Webhook,
    warning: z.string().optional().meta({ description: 'Why nothing is sent for now.' }),
  }),
  errors: ['invalid_request', 'webhooks_full'],
  example: exampleOf('', { url: 'https://play.example/coinop', types: ['coins.changed'], reason: 'the website shows balances' }),
  shown: ({ secret, webhook, warning = '' }) => [...partsOf(webhook), ...secretParts(secret), warning],
  async prepare({ url, types, reason = '' }, { hooks, events }) {
    const problem = await hooks.problemOf(url);
    if (problem !== undefined) return invalid('url', `It ${problem}`);
    const isFull = (await hooks.list()).length >= MOST_HOOKS;
    return {
      foreseen: isFull ? hooksFull() : undefined,
      question: `Send ${types === undefined ? 'all events' : types.join(', ')} of all accounts to ${url}?`,
      what: { url: placeOf(url), types: types?.join(',') ?? 'all' },
      why: reason,
      noted: ({ id }) => ({ id }),
      async act() {
        const isRelayed = (await events?.isRelayed()) ?? false;
        const added = await hooks.add({ url: new URL(url).href, types }, await events?.end());
        if (added === undefined) return hooksFull();
        const { id, secret, record } = added;
        return { id, secret, webhook: recordOf(id, record), ...(isRelayed ? {} : { warning: NOT_RELAYED }) };
      },
    };
  },
});

const hooksFull = () => refuse('webhooks_full', { message: `There are ${MOST_HOOKS} webhooks, as many as possible: remove one first.` });

export const rotateWebhook = hookChange({
  verb: 'rotate',
  operationId: 'rotateWebhook',
  title: 'New secret',
  role: 'admin',
  handsOutSecret: true,
  summary: 'Makes a new secret for a webhook, and shows it once. For a while requests are signed with the old secret too.',
  description: 'The secrets of earlier rotations, if they still sign, end at the same time, or at their own end if that is earlier.',
  fields: {
    overlapMinutes: z
      .number()
      .int()
      .min(0)
      .max(MOST_OVERLAP_MINUTES)
      .optional()
      .meta({
        description: 'How long the old secret signs too, up to 30 days. Left out: for a day.',
        example: OVERLAP_MINUTES,
        typed: { unit: 'Minutes', label: 'Minutes', initial: String(OVERLAP_MINUTES) },
      }),
  },
  reply: z.object({ secret: z.string().meta({ description: 'Shown once.' }), webhook: Webhook }),
  body: { overlapMinutes: 60, reason: 'the secret was in a log' },
  shown: ({ secret, webhook: { oldSecretsUntil } }) => [
    ...secretParts(secret),
    oldSecretsUntil === undefined
      ? 'No older one signs any more.'
      : `Older secrets sign too until ${minute(oldSecretsUntil)} UTC at the latest.`,
  ],
  async plan(hook, { overlapMinutes = OVERLAP_MINUTES }, { hooks, now }) {
    const { id } = hook;
    const oldUntil = now() + overlapMinutes * 60_000;
    return {
      // The question must not contain a time, because the time would differ when the operator confirms the question.
      question: `Make a new secret for ${hook.url}, and end all older ones ${overlapMinutes === 0 ? 'at once' : `in ${overlapMinutes} minutes at the latest`}?`,
      what: { url: placeOf(hook.url), overlapMinutes },
      async act() {
        const rotated = await hooks.rotate(id, oldUntil);
        return rotated === undefined
          ? refuse('webhook_not_found')
          : { secret: rotated.secret, webhook: shownHook({ ...hook, ...rotated.record }) };
      },
    };
  },
});

export const disableWebhook = switched('disable', 'The webhook gets no events from then on, and keeps its position.');
export const enableWebhook = switched(
  'enable',
  'The webhook continues at its position: events that happened in the meantime are sent, as far as the log still has them.',
);

function switched(verb: 'disable' | 'enable', description: string) {
  return hookChange({
    verb,
    operationId: `${verb}Webhook`,
    title: verb === 'disable' ? 'Stop it' : 'Start it',
    role: 'economist',
    summary: verb === 'disable' ? 'Stops a webhook.' : 'Restarts a webhook that an operator or the status 410 of its endpoint stopped.',
    description,
    reply: z.object({ webhook: Webhook }),
    body: { reason: 'the website moves, ticket 4711' },
    shown: ({ webhook: { id } }) => [verb === 'disable' ? `${id} gets no more events.` : `${id} goes on at its position.`],
    async plan(hook, _, { hooks }) {
      const { id } = hook;
      if ((hook.disabled === undefined) === (verb === 'enable')) return { reply: { webhook: shownHook(hook) } };
      return {
        question: `${verb === 'disable' ? 'Stop' : 'Start'} sending events to ${hook.url}?`,
        what: { url: placeOf(hook.url) },
        async act() {
          const record = await (verb === 'disable' ? hooks.disable(id) : hooks.enable(id));
          return record === undefined
            ? refuse('webhook_not_found')
            : { webhook: { ...recordOf(id, record), waitingAccounts: hook.waitingAccounts } };
        },
      };
    },
  });
}

export const removeWebhook = hookChange({
  verb: 'remove',
  operationId: 'removeWebhook',
  title: 'Remove it',
  role: 'admin',
  cannotBeUndone: true,
  summary: 'Removes a webhook, together with its secrets and its deliveries.',
  reply: z.object({ id: HookId }),
  body: { reason: 'the website is closed' },
  shown: ({ id }) => [`Removed ${id}.`],
  async plan(hook, _, { hooks }) {
    const { id } = hook;
    return {
      question: `Remove the webhook ${id} to ${hook.url}, with its secrets and deliveries?`,
      what: { url: placeOf(hook.url) },
      act: async () => ((await hooks.remove(id)) ? { id } : refuse('webhook_not_found')),
    };
  },
});

export const repeatDelivery = hookChange({
  verb: 'repeat',
  words: ['event'],
  operationId: 'repeatWebhookDelivery',
  role: 'support',
  costly: true,
  summary: 'Sends one event to a webhook again, within a second or two.',
  description: 'The event is sent outside the order of its account. It may have been given up before, or have a type that is not sent.',
  fields: {
    event: z.string().min(1).max(100).meta({ description: 'The id of the event: the `webhook-id` of its delivery.' }),
  },
  reply: z.object({ id: HookId, event: z.string() }),
  errors: ['event_not_found', 'webhooks_full'],
  body: { event: 'hoiwgw3emp-0-0', reason: 'the receiver lost it' },
  shown: ({ event }) => [`If the service is running, it sends ${event} again within a second or two.`],
  async plan(hook, { event }, { hooks, events }) {
    const { id } = hook;
    const found = events && (await findEvent(event, events));
    if (found === undefined) return refuse('event_not_found');
    return {
      question: `Send the event ${event} (${found.event.type}) to ${hook.url} again?`,
      what: { event, account: found.event.accountId },
      async act() {
        const word = await hooks.askAgain(id, { event, position: found.position });
        if (word === 'full') return refuse('webhooks_full', { message: 'No further event can wait to be sent again at present.' });
        return word === 'asked' ? { id, event } : refuse('webhook_not_found');
      },
    };
  },
});

export const repeatFailed = hookChange({
  verb: 'repeat-failed',
  operationId: 'repeatFailedDeliveries',
  title: 'Repeat all failed',
  role: 'support',
  costly: true,
  summary: 'Tries all failed deliveries of a webhook again, within a second or two.',
  description:
    'Accounts whose event failed no longer wait for their next attempt. Of the events that were given up, those among the last ' +
    `${KEPT_ATTEMPTS} failed attempts are sent again too, outside the order of their accounts.`,
  reply: z.object({ id: HookId, waitingAccounts: z.int(), givenUp: z.int() }),
  errors: ['webhooks_full'],
  body: { reason: 'the receiver is mended, ticket 4711' },
  shown: ({ waitingAccounts, givenUp }) => [
    `If the service runs, it tries ${waitingAccounts} waiting accounts and ${givenUp} events that were given up, within a second or two.`,
  ],
  async plan(hook, _, { hooks }) {
    const { id, waitingAccounts } = hook;
    const attempts = await hooks.attempts(id, 2 * KEPT_ATTEMPTS);
    const delivered = new Set(attempts.filter(({ outcome }) => outcome === 'delivered').map(({ event }) => event));
    const lost = attempts.filter(({ outcome, event, error }) => outcome === 'given_up' && error !== 'expired' && !delivered.has(event));
    const givenUp = new Map(lost.map(({ event, position }) => [event, position]));
    if (waitingAccounts === 0 && givenUp.size === 0) return { reply: { id, waitingAccounts, givenUp: 0 } };
    return {
      question: `Try the events of ${waitingAccounts} waiting accounts, and ${givenUp.size} events that were given up, at ${hook.url} again?`,
      what: { url: placeOf(hook.url) },
      noted: (reply) => ({ waitingAccounts: reply.waitingAccounts, givenUp: reply.givenUp }),
      async act() {
        for (const [event, position] of [[ALL_FAILED, 0] as const, ...givenUp]) {
          const word = await hooks.askAgain(id, { event, position });
          if (word === 'full') return refuse('webhooks_full', { message: 'No further event can wait to be sent again at present.' });
          if (word === 'none') return refuse('webhook_not_found');
        }
        return { id, waitingAccounts, givenUp: givenUp.size };
      },
    };
  },
});

export const replayWebhook = hookChange({
  verb: 'replay',
  operationId: 'replayWebhook',
  title: 'Send all again',
  role: 'economist',
  summary: 'Sends all events since a given time to a webhook again.',
  description:
    'The webhook begins there within two seconds, and a few earlier events come too. The endpoint must recognize repeated events by ' +
    '`webhook-id`. A time after the current position of the webhook skips events.',
  fields: {
    from: z.iso
      .datetime({ offset: true, error: 'Must be a time such as 2026-11-22T12:00:00Z' })
      .meta({ description: 'The time from which events are sent, as far as the log still has them.' }),
  },
  reply: z.object({ id: HookId, from: z.iso.datetime() }),
  errors: ['event_not_found'],
  body: { from: '2026-11-22T12:00:00Z', reason: 'the database of the website was restored' },
  shown: ({ from }) => [`If the service is running, it sends all events since ${minute(from)} UTC again.`],
  async plan(hook, { from }, { hooks, events }) {
    const { id } = hook;
    if (events === undefined) return refuse('event_not_found', { message: 'There is no log of events: EVENTS is off.' });
    const time = Date.parse(from);
    return {
      question: `Send all events since ${isoTime(time)} to ${hook.url} again?`,
      what: { url: placeOf(hook.url), from: isoTime(time)! },
      async act() {
        const isSet = await hooks.replay(id, await events.positionAt(time));
        return isSet ? { id, from: isoTime(time)! } : refuse('webhook_not_found');
      },
    };
  },
});
