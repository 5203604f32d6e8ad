import { admin, type Answer } from './console-calls.ts';
import { changeButton } from './console-change.ts';
import { damaged, facts, hashOf, listed, row, section, type Asked, type Part, type Shown } from './console-parts.ts';
import { deliveries as allDeliveries, webhookFacts, webhooks as allWebhooks } from '../../shown/shown-webhooks.ts';

/** The webhooks, and the state of their deliveries. */
export async function webhooksView(asked: Asked): Promise<Shown> {
  const answer = await admin('/webhooks', {}, asked.signal);
  return {
    title: 'Webhooks',
    parts: [
      ...damaged(answer),
      section('All webhooks', listed(allWebhooks, answer.webhooks), row(changeButton('webhooks add', {}, asked))),
    ],
  };
}

const TRIES = 20;
const BETWEEN_TRIES_MS = 500;

/** After a repetition the view is shown again once the outcome is known. A process of the service needs a moment for it. */
function repeating(id: string, event: string, asked: Asked): Asked {
  const since = Date.now();
  const again = async (): Promise<void> => {
    for (let tries = 0; tries < TRIES && !asked.signal.aborted; tries++) {
      const { deliveries } = await admin(`/webhooks/${encodeURIComponent(id)}/deliveries`, { limit: '20' }, asked.signal);
      const isThere = (deliveries as Answer[]).some((delivery) => delivery.event === event && Date.parse(delivery.at) >= since);
      if (isThere) break;
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_TRIES_MS));
    }
    asked.again();
  };
  return { ...asked, again: () => void again().catch(() => asked.again()) };
}

/** A webhook, the outcome of its last deliveries, and its changes. */
export async function webhookView(asked: Asked): Promise<Shown> {
  const {
    words: [id = ''],
    signal,
  } = asked;
  const path = `/webhooks/${encodeURIComponent(id)}`;
  const [answer, told] = await Promise.all([admin(path, {}, signal), admin(`${path}/deliveries`, { limit: '50' }, signal)]);
  const { webhook } = answer;
  const change = (verb: string, by: Asked = asked): Part => changeButton(`webhooks ${verb}`, { id }, by);
  const toList = { ...asked, again: () => void (location.hash = hashOf(['webhooks'])) };
  return {
    title: `Webhook ${id}`,
    parts: [
      ...damaged(answer, told),
      section(
        'What it is',
        webhook === undefined ? '' : facts(webhookFacts(webhook)),
        webhook?.failing === true ? row(change('repeat-failed')) : '',
        row(change(webhook?.state === 'disabled' ? 'enable' : 'disable'), change('replay'), change('rotate'), change('remove', toList)),
      ),
      section(
        'Last deliveries',
        listed(allDeliveries, told.deliveries as Answer[], {
          act: ({ event }) => changeButton('webhooks repeat', { id, event }, repeating(id, event, asked), `the event ${event}`),
        }),
      ),
    ],
  };
}
