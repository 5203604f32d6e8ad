import type { z } from 'zod';
import type { Delivery, Webhook as WebhookShape } from '../webhook-facts.ts';
import { code, coins, given, link, state, time, type Cell, type Facts, type Listing } from './cells.ts';

type Webhook = z.output<typeof WebhookShape>;

function stateOf(hook: Webhook): Cell {
  if (hook.state === 'disabled') return state(hook.disabledBy === 'gone' ? 'ended by 410' : 'stopped', false);
  if (!hook.delivering) return state('no process delivers', false);
  return hook.failing === true ? state('failing', false) : state('active', true);
}

const behind = ({ lagSeconds }: Webhook): Cell => given(lagSeconds, (seconds) => `${seconds} s`);
const failure = ({ lastFailure }: Webhook): Cell => given(lastFailure, ({ at, ...why }) => [time(at), ` ${answerOf(why)}`]);

/** The status with the first characters of the answer, or the reason why there is none. */
function answerOf({ status, error = '', answer }: Pick<z.output<typeof Delivery>, 'status' | 'error' | 'answer'>): string {
  return answer === undefined ? String(status ?? error) : `${status}: ${answer}`;
}
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
    ['Next attempt (UTC)', hook.failing === true ? time(hook.lastFailure?.nextAt) : undefined],
    ['Old secret signs until', time(hook.oldSecretsUntil)],
    ['Made (UTC)', time(hook.createdAt)],
  ];
}

export const deliveries: Listing<z.output<typeof Delivery>> = {
  title: 'Deliveries',
  none: 'Nothing was sent yet.',
  columns: {
    'At (UTC)': ({ at }) => time(at),
    Event: ({ event }) => code(event),
    Type: ({ type }) => type,
    Attempt: ({ attempt }) => attempt,
    Outcome: ({ outcome }) => state(outcome.replace('_', ' '), outcome === 'delivered'),
    Answer: answerOf,
    'Next attempt (UTC)': ({ nextAt }) => time(nextAt),
    ms: ({ durationMs }) => durationMs,
  },
};
