import type { z } from 'zod';
import { deliveries as allDeliveries, webhookFacts, webhooks as allWebhooks } from '../shown/shown-webhooks.ts';
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
import { facts, listed, minuteOfText, paragraphs } from './table.ts';

export const webhooks = groupOf(
  { name: 'webhooks', summary: 'where events are sent' },
  commandOf(listWebhooks, ({ webhooks: all }) => listed(allWebhooks, all)),
  commandOf(showWebhook, ({ webhook }) => textOf(webhook)),
  commandOf(addWebhook, ({ secret, webhook, warning = '' }) => paragraphs(textOf(webhook), secretText(secret), warning)),
  commandOf(rotateWebhook, ({ secret, webhook: { oldSecretsUntil } }) =>
    paragraphs(
      secretText(secret),
      oldSecretsUntil === undefined
        ? 'No older one signs any more.'
        : `Older ones sign too until ${minuteOfText(oldSecretsUntil)} UTC at the latest.`,
    ),
  ),
  commandOf(disableWebhook, ({ webhook }) => `${webhook.id} gets no more events.`),
  commandOf(enableWebhook, ({ webhook }) => `${webhook.id} goes on at its position.`),
  commandOf(removeWebhook, ({ id }) => `Removed ${id}.`),
  commandOf(listDeliveries, ({ deliveries }) => listed(allDeliveries, deliveries)),
  commandOf(repeatDelivery, ({ event }) => `The service sends ${event} again within a second or two, if it runs.`),
  commandOf(replayWebhook, ({ from }) => `The service sends all events since ${minuteOfText(from)} UTC again, if it runs.`),
);

function textOf(hook: z.output<typeof showWebhook.reply>['webhook']): string {
  return paragraphs(`Webhook ${hook.id}`, facts(webhookFacts(hook)));
}

function secretText(secret: string): string {
  return `Secret, shown once:\n\n    ${secret}`;
}
