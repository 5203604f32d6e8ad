import { admin, mayAct, type Answer, type Operator } from './console-calls.ts';
import { changeButton, isoOf, timeInput, type Change } from './console-change.ts';
import { facts, hashOf, input, listed, section, type Asked, type Part, type Shown } from './console-parts.ts';
import { deliveries as allDeliveries, webhookFacts, webhooks as allWebhooks } from '../../shown/shown-webhooks.ts';
import { make } from '../../../web/browser/dom.ts';

const secretOf = ({ secret }: Answer) => ({ label: 'The secret of the webhook', text: secret as string });

/** The webhooks, and the state of their deliveries. */
export async function webhooksView({ operator, signal, again }: Asked): Promise<Shown> {
  const { webhooks } = await admin('/webhooks', {}, signal);
  return {
    title: 'Webhooks',
    parts: [section('All webhooks', listed(allWebhooks, webhooks), make('div', { className: 'row' }, addButton(operator, again)))],
  };
}

function addButton(operator: Operator, again: () => void): Part {
  if (!mayAct(operator, 'admin')) return '';
  const url = input('url', '', { type: 'url', required: true, maxLength: 1024, placeholder: 'https://play.example/coinop' });
  const types = input('types', '', { placeholder: 'coins.changed,account.deleted' });
  return changeButton(
    {
      title: 'Add a webhook',
      operation: 'webhooks add',
      path: '/webhooks',
      target: {},
      hint: 'The operator of the endpoint learns what happens to all accounts from then on.',
      fields: [
        ['URL', url],
        ['Types of events (empty: all)', types],
      ],
      valuesOf: () => ({
        url: url.value.trim(),
        ...(types.value.trim() === '' ? {} : { types: types.value.split(',').map((type) => type.trim()) }),
      }),
      secretOf,
    },
    operator,
    again,
  );
}

/** A webhook, the outcome of its last deliveries, and its changes. */
export async function webhookView({ words: [id = ''], operator, signal, again }: Asked): Promise<Shown> {
  const path = `/webhooks/${encodeURIComponent(id)}`;
  const [{ webhook }, { deliveries }] = await Promise.all([admin(path, {}, signal), admin(`${path}/deliveries`, { limit: '50' }, signal)]);
  const change = (least: 'economist' | 'admin', verb: string, title: string, more: Partial<Change> = {}, changed = again): Part =>
    mayAct(operator, least)
      ? changeButton({ title, operation: `webhooks ${verb}`, path: `${path}/${verb}`, target: { id }, ...more }, operator, changed)
      : '';
  const from = timeInput('from', true);
  const minutes = input('minutes', '1440', { type: 'number', required: true, min: '0', max: '43200', step: '1' });
  return {
    title: `Webhook ${id}`,
    parts: [
      section(
        'What it is',
        facts(webhookFacts(webhook)),
        make(
          'div',
          { className: 'row' },
          webhook.state === 'disabled' ? change('economist', 'enable', 'Start it') : change('economist', 'disable', 'Stop it'),
          change('economist', 'replay', 'Send all again', {
            hint: 'Sends all events since a time, as far as the log still has them. A time after the current position skips events.',
            fields: [['Since (UTC)', from]],
            valuesOf: () => ({ from: isoOf(from) }),
          }),
          change('admin', 'rotate', 'New secret', {
            fields: [['The old secret signs too, for minutes', minutes]],
            valuesOf: () => ({ overlapMinutes: Number(minutes.value) }),
            secretOf,
          }),
          change('admin', 'remove', 'Remove it', {}, () => void (location.hash = hashOf(['webhooks']))),
        ),
      ),
      section('Last deliveries', listed(allDeliveries, deliveries, { act: ({ event }) => repeatButton(event, id, operator, again) })),
    ],
  };
}

function repeatButton(event: string, id: string, operator: Operator, again: () => void): Part {
  if (!mayAct(operator, 'support')) return '';
  const path = `/webhooks/${encodeURIComponent(id)}/repeat`;
  const made = changeButton(
    { title: 'Repeat', operation: 'webhooks repeat', path, target: { id }, valuesOf: () => ({ event }) },
    operator,
    again,
  );
  made.setAttribute('aria-label', `Repeat the event ${event}`);
  return made;
}
