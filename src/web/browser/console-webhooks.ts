import { admin, mayAct, type Answer, type Operator } from './console-calls.ts';
import { changeButton, isoOf, timeInput, type Change } from './console-change.ts';
import { chip, coins, facts, hashOf, input, link, section, table, time, type Asked, type Part, type Shown } from './console-parts.ts';
import { make } from './dom.ts';

const secretOf = ({ secret }: Answer) => ({ label: 'The secret of the webhook', text: secret as string });

/** The webhooks, and the state of their deliveries. */
export async function webhooksView({ operator, signal, again }: Asked): Promise<Shown> {
  const { webhooks } = await admin('/webhooks', {}, signal);
  const rows = (webhooks as Answer[]).map((hook) => [
    link(['webhooks', hook.id], hook.id),
    stateOf(hook),
    behind(hook),
    coins(hook.waitingAccounts),
    failure(hook),
    hook.types?.join(', ') ?? 'all',
    hook.url,
  ]);
  return {
    title: 'Webhooks',
    parts: [
      section(
        'All webhooks',
        table(
          'Webhooks',
          ['Webhook', 'State', '#Behind', '#Accounts waiting', 'Last failure (UTC)', 'Events', 'URL'],
          rows,
          'Events are sent nowhere.',
        ),
        make('div', { className: 'row' }, addButton(operator, again)),
      ),
    ],
  };
}

function stateOf({ state, disabledBy, delivering }: Answer): Part {
  if (state === 'disabled') return chip(disabledBy === 'gone' ? 'ended by 410' : 'stopped', 'waiting');
  return delivering === true ? chip('active', 'live') : chip('no process delivers', 'waiting');
}

const behind = ({ lagSeconds }: Answer): string => (lagSeconds === undefined ? '–' : `${coins(lagSeconds)} s`);

function failure({ lastFailure: last }: Answer): Part {
  return last === undefined ? 'none' : make('span', {}, time(last.at), ` ${answerOf(last)}`);
}

const answerOf = ({ status, error }: Answer): string => (status === undefined ? ((error as string | undefined) ?? '') : String(status));

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
  const { url, types, createdAt, disabledAt, oldSecretsUntil, waitingAccounts, lastDeliveredAt } = webhook;
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
        facts([
          ['State', stateOf(webhook)],
          ['Stopped (UTC)', disabledAt && time(disabledAt)],
          ['URL', url],
          ['Events', types?.join(', ') ?? 'all'],
          ['Behind', behind(webhook)],
          ['Accounts that wait', `${coins(waitingAccounts)} whose event failed`],
          ['Last delivery (UTC)', lastDeliveredAt && time(lastDeliveredAt)],
          ['Last failure (UTC)', failure(webhook)],
          ['Old secret signs until', oldSecretsUntil && time(oldSecretsUntil)],
          ['Made (UTC)', time(createdAt)],
        ]),
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
      section('Last deliveries', deliveryTable(deliveries, id, operator, again)),
    ],
  };
}

function deliveryTable(deliveries: readonly Answer[], id: string, operator: Operator, again: () => void): HTMLElement {
  return table(
    'Deliveries',
    ['At (UTC)', 'Event', 'Type', '#Attempt', 'Outcome', 'Answer', '#ms', ''],
    deliveries.map(({ at, event, type, attempt, outcome, durationMs, ...rest }) => [
      time(at),
      make('span', { className: 'mono', textContent: event }),
      type,
      String(attempt),
      chip(outcome.replace('_', ' '), outcome === 'delivered' ? 'live' : 'waiting'),
      answerOf(rest),
      String(durationMs),
      repeatButton(event, id, operator, again),
    ]),
    'Nothing was sent yet.',
  );
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
