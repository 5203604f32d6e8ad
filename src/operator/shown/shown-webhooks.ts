import type { z } from 'zod';
import type { Delivery, Webhook as WebhookShape } from '../webhook-facts.ts';
import { code, coins, given, link, second, state, time, type Cell, type Facts, type Listing } from './cells.ts';

type Webhook = z.output<typeof WebhookShape>;

function stateOf(hook: Webhook): Cell {
  if (hook.state === 'disabled') return state(hook.disabledBy === 'gone' ? 'ended by 410' : 'stopped', false);
  return hook.delivering ? state('active', true) : state('no process delivers', false);
}

const behind = ({ lagSeconds }: Webhook): Cell => given(lagSeconds, (seconds) => `${seconds} s`);
const failure = ({ lastFailure }: Webhook): Cell => given(lastFailure, ({ at, status, error }) => [time(at), ` ${status ?? error ?? ''}`]);
const types = (hook: Webhook): string => hook.types?.join(', ') ?? 'all';

export const webhooks: Listing<Webhook> = {
  title: 'Webhooks',
  none: 'Events are sent nowhere.',
  columns: {
    Webhook: ({ id }) => link(id, ['webhooks', id]),
    State: stateOf,
    Behind: behind,
    Waiting: ({ waitingAccounts }) => coins(waitingAccounts),
    'Last failure (UTC)': failure,
    Events: types,
    URL: ({ url }) => url,
  },
};

export function webhookFacts(hook: Webhook): Facts {
  return [
    ['State', stateOf(hook)],
    ['Stopped (UTC)', time(hook.disabledAt)],
    ['URL', hook.url],
    ['Events', types(hook)],
    ['Behind', behind(hook)],
    ['Accounts that wait', `${hook.waitingAccounts} whose event failed`],
    ['Last delivery (UTC)', time(hook.lastDeliveredAt)],
    ['Last failure (UTC)', failure(hook)],
    ['Old secret signs until', time(hook.oldSecretsUntil)],
    ['Made (UTC)', time(hook.createdAt)],
  ];
}

export const deliveries: Listing<z.output<typeof Delivery>> = {
  title: 'Deliveries',
  none: 'Nothing was sent yet.',
  columns: {
    'At (UTC)': ({ at }) => second(at),
    Event: ({ event }) => code(event),
    Type: ({ type }) => type,
    Attempt: ({ attempt }) => attempt,
    Outcome: ({ outcome }) => state(outcome.replace('_', ' '), outcome === 'delivered'),
    Answer: ({ status, error }) => status ?? error,
    ms: ({ durationMs }) => durationMs,
  },
};
