import type { z } from 'zod';
import { EVENT_TYPES } from '../../features/events/model.ts';
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
import type { CommandGroup } from './command.ts';
import { durationOf } from './duration.ts';
import { commandOf } from './operate.ts';
import { facts, minuteOfText, secondOfText, table } from './table.ts';

type Shown = z.output<typeof showWebhook.reply>['webhook'];

const ID = ['ID'];
const ofId = ({ words: [id] }: { readonly words: readonly string[] }) => ({ id });

export const webhooks: CommandGroup = {
  name: 'webhooks',
  summary: 'where events are sent',
  commands: {
    list: commandOf(listWebhooks, {
      input: () => ({}),
      text: ({ webhooks: all }) =>
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
    }),
    show: commandOf(showWebhook, { words: ID, input: ofId, text: ({ webhook }) => textOf(webhook) }),
    add: commandOf(addWebhook, {
      words: ['URL'],
      flags: { types: { value: 'LIST', summary: `types of events, of ${EVENT_TYPES.join(',')}. Default: all` } },
      changes: true,
      needsReason: false,
      input: ({ words: [url], flags: { types } }) => ({ url, types: types?.split(',').map((type) => type.trim()) }),
      text: ({ secret, webhook, warning }) =>
        [textOf(webhook), secretText(secret), ...(warning === undefined ? [] : [warning])].join('\n\n'),
    }),
    rotate: commandOf(rotateWebhook, {
      words: ID,
      flags: { overlap: { value: 'TIME', summary: 'how long the old secret signs too, up to 30d. Default: 1d; 0m ends it at once' } },
      changes: true,
      needsReason: false,
      input: ({ words: [id], flags: { overlap } }) => ({
        id,
        overlapMinutes: overlap === undefined ? undefined : durationOf('overlap', overlap) / 60_000,
      }),
      text: ({ secret, webhook: { oldSecretsUntil } }) =>
        `${secretText(secret)}\n\n${oldSecretsUntil === undefined ? 'No older one signs any more.' : `Older ones sign too until ${minuteOfText(oldSecretsUntil)} UTC at the latest.`}`,
    }),
    disable: commandOf(disableWebhook, {
      words: ID,
      changes: true,
      needsReason: false,
      input: ofId,
      text: ({ webhook }) => `${webhook.id} gets no more events.`,
    }),
    enable: commandOf(enableWebhook, {
      words: ID,
      changes: true,
      needsReason: false,
      input: ofId,
      text: ({ webhook }) => `${webhook.id} goes on at its position.`,
    }),
    remove: commandOf(removeWebhook, { words: ID, changes: true, needsReason: false, input: ofId, text: ({ id }) => `Removed ${id}.` }),
    deliveries: commandOf(listDeliveries, {
      words: ID,
      flags: { limit: { value: 'N', summary: 'attempts, up to 200. Default: 100' } },
      input: ({ words: [id], flags: { limit } }) => ({ id, limit }),
      text: ({ deliveries }) =>
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
    }),
    repeat: commandOf(repeatDelivery, {
      words: ['ID', 'EVENT'],
      changes: true,
      needsReason: false,
      input: ({ words: [id, event] }) => ({ id, event }),
      text: ({ event }) => `The service sends ${event} again within a second or two, if it runs.`,
    }),
    replay: commandOf(replayWebhook, {
      words: ID,
      flags: { from: { value: 'TIME', summary: 'from then on, such as 2026-11-22T12:00:00Z. Needed' } },
      changes: true,
      needsReason: false,
      input: ({ words: [id], flags: { from } }) => ({ id, from }),
      text: ({ from }) => `The service sends all events since ${minuteOfText(from)} UTC again, if it runs.`,
    }),
  },
};

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
