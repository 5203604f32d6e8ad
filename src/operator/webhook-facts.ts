import { z } from 'zod';
import { isoTime } from '../accounts/merge-rules.ts';
import { AheadOfLog } from '../features/events/event-log.ts';
import { MOST_URL_LENGTH } from '../features/webhooks/hook-url.ts';
import type { ListedHook } from '../features/webhooks/hooks.ts';
import { HOOK_ID, typesOf, type HookRecord } from '../features/webhooks/model.ts';
import type { Parts } from '../redis/unreadable.ts';
import type { OperatorServices } from './operation.ts';

export const HookId = z.string().regex(HOOK_ID, 'Must be the id of a webhook: 8 small letters and digits').meta({ example: 'k3v9x0ab' });

export const HookUrl = z
  .string()
  .min(1)
  .max(MOST_URL_LENGTH)
  .meta({
    description:
      'Where events are sent: `https:`, without user and password. `http:` and private addresses need WEBHOOKS_PRIVATE=on. All operators see ' +
      'it, so put no secret into it: the signature proves the sender.',
    example: 'https://play.example/coinop',
  });

export const Webhook = z
  .object({
    id: HookId,
    url: HookUrl,
    types: z
      .array(z.string())
      .optional()
      .meta({ description: 'Left out: all types.', example: ['coins.changed'] }),
    createdAt: z.iso.datetime(),
    state: z.enum(['active', 'disabled']),
    disabledBy: z.enum(['operator', 'gone']).optional().meta({ description: '`gone`: the endpoint answered 410.' }),
    disabledAt: z.iso.datetime().optional(),
    oldSecretsUntil: z.iso.datetime().optional().meta({ description: 'Until then an old secret signs too.' }),
    waitingAccounts: z.number().int().meta({ description: 'Accounts whose event failed and that wait for the next attempt.', example: 0 }),
    delivering: z.boolean().meta({ description: 'Whether a process of the service delivers the events of this webhook.', example: true }),
    lagSeconds: z.number().int().optional().meta({
      description:
        'Only in lists and when shown: age of the oldest event that it has not received, without those of accounts that wait. Left out with EVENTS=off.',
      example: 0,
    }),
    lastDeliveredAt: z.iso.datetime().optional().meta({ description: 'In lists and when shown: start of the last successful attempt.' }),
    lastFailure: z
      .object({
        at: z.iso.datetime(),
        event: z.string(),
        status: z.number().int().optional(),
        error: z.string().optional(),
        answer: z.string().optional(),
        nextAt: z.iso.datetime().optional(),
      })
      .optional()
      .meta({
        description: 'In lists and when shown: the last failed attempt, with the first characters of the answer and the time of the next.',
      }),
    failing: z.boolean().optional().meta({
      description: 'In lists and when shown: accounts wait after failures, or the last attempt has failed.',
    }),
  })
  .meta({ id: 'Webhook' });

export const Delivery = z
  .object({
    event: z.string().meta({ description: 'The id of the event.' }),
    type: z.string().meta({ example: 'coins.changed' }),
    at: z.iso.datetime().meta({ description: 'When the attempt began.' }),
    attempt: z.number().int().meta({ description: '1 for the first.', example: 1 }),
    outcome: z.enum(['delivered', 'failed', 'given_up']).meta({ description: '`failed` is tried again.' }),
    status: z.number().int().optional().meta({ description: 'Of the answer.', example: 204 }),
    error: z
      .string()
      .optional()
      .meta({
        description:
          'Why there is no valid answer: `dns`, `private_address`, `connection`, `tls`, `timeout`, `answer_too_large`, `bad_answer`; or `expired`: the log ' +
          'dropped the event before it was delivered.',
        example: 'timeout',
      }),
    answer: z.string().optional().meta({ description: 'The first 200 characters of an answer that does not mean success.' }),
    nextAt: z.iso
      .datetime()
      .optional()
      .meta({ description: 'When the next attempt begins, unless another event of the account is tried first.' }),
    durationMs: z.number().int().meta({ example: 31 }),
  })
  .meta({ id: 'WebhookDelivery' });

export function shownHook({ id, text: _, ...hook }: ListedHook): z.input<typeof Webhook> {
  return { ...recordOf(id, hook), waitingAccounts: hook.waitingAccounts, delivering: hook.isHeld && hook.disabled === undefined };
}

export function recordOf(id: string, { url, types, createdAt, disabled, secrets }: HookRecord): z.input<typeof Webhook> {
  const oldUntil = Math.max(0, ...secrets.slice(1).map(({ until = 0 }) => until));
  return {
    id,
    url,
    ...(types === undefined ? {} : { types }),
    createdAt: isoTime(createdAt)!,
    state: disabled === undefined ? 'active' : 'disabled',
    ...(disabled === undefined ? {} : { disabledBy: disabled.by, disabledAt: isoTime(disabled.at)! }),
    ...(oldUntil === 0 ? {} : { oldSecretsUntil: isoTime(oldUntil)! }),
    waitingAccounts: 0,
    delivering: false,
  };
}

/** Adds the figures that operators need first: how far the webhook is behind, and the last failure. */
export async function shownWhole(
  hook: ListedHook,
  { hooks, events, now }: OperatorServices,
  parts: Parts,
): Promise<z.input<typeof Webhook>> {
  const { cursor } = hook;
  const [{ delivered, failed }, page] = await Promise.all([
    hooks.lastOf(hook.id, parts),
    cursor === undefined ? undefined : parts.read('events', async () => events?.read(cursor, 1, typesOf(hook)).catch(nothingAhead)),
  ]);
  const [oldest] = page?.events ?? [];
  const lagSeconds = oldest === undefined ? 0 : Math.max(0, Math.round((now() - Date.parse(oldest.at)) / 1000));
  return {
    ...shownHook(hook),
    // If an event type is rare, one read may not find an event in a long log. The lag is unknown then.
    ...(page === undefined || (oldest === undefined && !page.isEnd) ? {} : { lagSeconds }),
    ...(delivered === undefined ? {} : { lastDeliveredAt: isoTime(delivered.at)! }),
    ...(failed === undefined
      ? {}
      : {
          lastFailure: {
            ...{ at: isoTime(failed.at)!, event: failed.event, status: failed.status, error: failed.error },
            ...{ answer: failed.answer, nextAt: isoTime(failed.nextAt) },
          },
        }),
    failing: hook.waitingAccounts > 0 || (failed?.at ?? 0) > (delivered?.at ?? 0),
  };
}

/** If the position of a webhook is ahead of the log, its lag is unknown. */
function nothingAhead(error: unknown): undefined {
  if (!(error instanceof AheadOfLog)) throw error;
}
