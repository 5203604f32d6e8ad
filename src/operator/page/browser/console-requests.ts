import { call, type Answer } from './console-calls.ts';
import { changeButton } from './console-change.ts';
import { nameOperators, operatorText, row, section, listed, type Asked, type Shown } from './console-parts.ts';
import { whyOf } from './console-sign-in.ts';
import { requests as shown } from '../../shown/shown-requests.ts';
import { make } from '../../../web/browser/dom.ts';

/**
 * Requests for the approval of a second person: open requests with the answers that the operator may give, and the requests of the last
 * days.
 */
export async function requestsView(asked: Asked): Promise<Shown> {
  // Another person may have signed in for the first time after this operator did.
  const [{ requests }, { operators }] = await Promise.all([
    call('/console/requests', { signal: asked.signal }),
    call('/console/operators', { signal: asked.signal }),
  ]);
  nameOperators(operators);
  const open = (requests as Answer[]).filter(({ state }) => state === 'open');
  const over = (requests as Answer[]).filter(({ state }) => state !== 'open');
  return {
    title: 'Requests',
    parts: [
      section(
        'Waiting for a second person',
        listed(shown, open, {
          none: 'Nobody waits for a yes.',
          act({ id, by, coins }) {
            const label = `${coins} coins, asked by ${operatorText(by)}`;
            const isOwn = by === asked.operator.by;
            return row(
              isOwn ? '' : changeButton('requests approve', { id }, asked, label),
              changeButton('requests refuse', { id }, asked, label, isOwn ? 'Withdraw' : undefined),
            );
          },
        }),
      ),
      section('Of the last days', listed(shown, over)),
    ],
  };
}

/** The view for the tab in which the operator has proved the identity. */
export async function confirmedView(): Promise<Shown> {
  return { title: 'It is you', parts: [make('p', { className: 'lead', textContent: 'Close this tab, and go on in the other tab.' })] };
}

/** The view after a failed sign-in, in a browser that has a session. */
export async function whyView({ words: [word = ''] }: Asked): Promise<Shown> {
  return { title: 'That did not work', parts: [make('p', { className: 'lead', textContent: whyOf(word) })] };
}
