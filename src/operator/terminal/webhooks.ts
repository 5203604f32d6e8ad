import type { z } from 'zod';
import {
  addWebhook,
  disableWebhook,
  enableWebhook,
  listDeliveries,
  listWebhooks,
  removeWebhook,
  repeatDelivery,
  replayWebhook,
  rotateWebhook,
  showWebhook,
} from '../webhooks.ts';
import { commandOf, groupOf } from './operate.ts';
import { facts, minuteOfText, secondOfText, table } from './table.ts';

type Shown = z.output<typeof showWebhook.reply>['webhook'];

export const webhooks = groupOf(
  { name: 'webhooks', summary: 'where events are sent' },
  commandOf(listWebhooks, ({ webhooks: all }) =>
    all.length === 0
      ? 'There are no webhooks.'
      : table(
          ['ID', 'STATE', 'BEHIND', 'WAITING', 'MADE (UTC)', 'LAST FAILURE (UTC)', 'TYPES', 'URL'],
          all.map((hook) => [
            hook.id,
            stateOf(hook),
            behindText(hook),
            String(hook.waitingAccounts),
            minuteOfText(hook.createdAt),
            failureText(hook),
            hook.types?.join(',') ?? 'all',
            hook.url,
          ]),
        ),
  ),
  commandOf(showWebhook, ({ webhook }) => textOf(webhook)),
  commandOf(addWebhook, ({ secret, webhook, warning }) =>
    [textOf(webhook), secretText(secret), ...(warning === undefined ? [] : [warning])].join('\n\n'),
  ),
  commandOf(
    rotateWebhook,
    ({ secret, webhook: { oldSecretsUntil } }) =>
      `${secretText(secret)}\n\n${oldSecretsUntil === undefined ? 'No older one signs any more.' : `Older ones sign too until ${minuteOfText(oldSecretsUntil)} UTC at the latest.`}`,
  ),
  commandOf(disableWebhook, ({ webhook }) => `${webhook.id} gets no more events.`),
  commandOf(enableWebhook, ({ webhook }) => `${webhook.id} goes on at its position.`),
  commandOf(removeWebhook, ({ id }) => `Removed ${id}.`),
  commandOf(listDeliveries, ({ deliveries }) =>
    deliveries.length === 0
      ? 'Nothing was sent yet.'
      : table(
          ['AT (UTC)', 'EVENT', 'TYPE', 'ATTEMPT', 'OUTCOME', 'ANSWER', 'MS'],
          deliveries.map(({ at, event, type, attempt, outcome, status, error = '', durationMs }) => [
            secondOfText(at),
            event,
            type,
            String(attempt),
            outcome,
            status === undefined ? error : String(status),
            String(durationMs),
          ]),
        ),
  ),
  commandOf(repeatDelivery, ({ event }) => `The service sends ${event} again within a second or two, if it runs.`),
  commandOf(replayWebhook, ({ from }) => `The service sends all events since ${minuteOfText(from)} UTC again, if it runs.`),
);

function stateOf({ state, disabledBy, delivering }: Shown): string {
  if (state === 'disabled') return disabledBy === 'gone' ? 'disabled (410)' : 'disabled';
  return delivering ? 'active' : 'active (no process delivers)';
}

const behindText = ({ lagSeconds }: Shown): string => (lagSeconds === undefined ? '' : `${lagSeconds} s`);

function failureText({ lastFailure }: Shown): string {
  if (lastFailure === undefined) return '';
  return `${minuteOfText(lastFailure.at)} ${lastFailure.status ?? lastFailure.error ?? ''}`.trim();
}

function textOf(hook: Shown): string {
  const { id, url, types, createdAt, disabledAt, oldSecretsUntil, waitingAccounts } = hook;
  return [
    `Webhook ${id}`,
    facts([
      ['url', url],
      ['types', types?.join(', ') ?? 'all'],
      ['state', `${stateOf(hook)}${disabledAt === undefined ? '' : `, since ${minuteOfText(disabledAt)} UTC`}`],
      ['made', `${minuteOfText(createdAt)} UTC`],
      ['waiting', `${waitingAccounts} accounts whose event failed`],
      ...(hook.lagSeconds === undefined ? [] : [['behind', behindText(hook)] as const]),
      ...(hook.lastDeliveredAt === undefined ? [] : [['last delivery', `${minuteOfText(hook.lastDeliveredAt)} UTC`] as const]),
      ...(hook.lastFailure === undefined ? [] : [['last failure', failureText(hook)] as const]),
      ...(oldSecretsUntil === undefined ? [] : [['old secret', `signs too until ${minuteOfText(oldSecretsUntil)} UTC`] as const]),
    ]),
  ].join('\n\n');
}

function secretText(secret: string): string {
  return `Secret, shown once:\n\n    ${secret}`;
}
