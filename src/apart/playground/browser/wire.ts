import { copy } from '../../../web/browser/copy.ts';
import { curlOf, pretty, shortened, type Sent } from './curl.ts';
import { byId, make } from '../../../web/browser/dom.ts';

/** The most entries of a log. Older entries are removed. */
const MOST_ENTRIES = 30;

/** If a read comes at most this many milliseconds after a request, it belongs to the same press of a button. */
const SAME_PRESS_MS = 1500;

/**
 * The log beside a step. It shows the step's requests as curl commands with their answers, and the raw messages of its WebSockets. Newest
 * first.
 */
export interface Wire {
  /** The browser's fetch, which also writes a line into the log. */
  readonly fetch: (url: string, init: RequestInit & { headers: Record<string, string> }) => Promise<Response>;
  /** The browser's WebSocket, which also writes each message into the log. @param of the name of the player in the log */
  socketOf(of: string): typeof WebSocket;
}

/** The log beside a step. @param opens whether the newest request is shown open, with its curl and answer; otherwise a person opens it */
export function wireOf(step: string, opens = true): Wire {
  const log = byId(`${step}-wire`);
  let shownAt = -Infinity;
  const add = (entry: HTMLElement): void => {
    log.querySelector('.empty')?.remove();
    log.prepend(entry);
    while (log.children.length > MOST_ENTRIES) log.lastElementChild!.remove();
    log.scrollTop = 0;
  };
  /** Adds a request and shows it open. If a read follows a change from the same press, its entry stays folded. */
  const addExchange = (entry: HTMLDetailsElement, isRead: boolean): void => {
    add(entry);
    if (!opens || (isRead && performance.now() - shownAt < SAME_PRESS_MS)) return;
    shownAt = performance.now();
    for (const open of log.querySelectorAll('details.exchange[open]')) open.removeAttribute('open');
    entry.open = true;
  };
  return {
    async fetch(url, init) {
      const sent: Sent = { method: init.method ?? 'GET', url, headers: init.headers, body: init.body as string | undefined };
      const startedAt = performance.now();
      try {
        const response = await fetch(url, init);
        const text = await response.clone().text();
        addExchange(exchange(sent, String(response.status), text, performance.now() - startedAt), sent.method === 'GET');
        return response;
      } catch (error) {
        if (init.signal?.aborted !== true)
          addExchange(exchange(sent, 'no answer', '', performance.now() - startedAt), sent.method === 'GET');
        throw error;
      }
    },

    socketOf: (of) =>
      class extends WebSocket {
        constructor(url: string | URL) {
          super(url);
          const { pathname, search } = new URL(url);
          this.addEventListener('open', () => add(note(of, `opened ${pathname}${search}`)));
          this.addEventListener('message', ({ data }) => add(message(of, '←', String(data))));
          this.addEventListener('close', ({ code }) => add(note(of, `closed with ${code}`)));
        }

        override send(data: string): void {
          // The client library may not know yet that a person has dropped the connection. The library sends the message again on the next
          // connection.
          if (this.readyState !== WebSocket.OPEN) return;
          add(message(of, '→', data));
          super.send(data);
        }
      },
  };
}

function exchange(sent: Sent, status: string, answer: string, milliseconds: number): HTMLDetailsElement {
  const curl = curlOf(sent);
  const button = make('button', { type: 'button', className: 'copy', textContent: 'Copy curl' });
  button.addEventListener('click', () => void copy(curl, button));
  const { pathname } = new URL(sent.url);
  return make(
    'details',
    { className: 'exchange' },
    make(
      'summary',
      {},
      make('b', { className: `method ${sent.method.toLowerCase()}`, textContent: sent.method }),
      ' ',
      make('span', { className: 'path', textContent: pathname }),
      ' ',
      make('span', { className: `status ${status === '200' ? 'good' : 'bad'}`, textContent: status }),
      ' ',
      make('span', { className: 'ms', textContent: `${Math.max(1, Math.round(milliseconds))} ms` }),
    ),
    make('div', { className: 'sent' }, make('pre', {}, shortened(curl)), button),
    make('pre', { className: 'answer' }, ...coloured(shortened(pretty(answer)))),
  );
}

function message(of: string, direction: string, text: string): HTMLElement {
  return make(
    'p',
    { className: 'frame' },
    make('b', { textContent: `${of} ${direction}` }),
    ' ',
    make('code', {}, ...coloured(shortened(readable(text)))),
  );
}

/** A message in a form for people: a patch has a line for each operation. */
function readable(text: string): string {
  const { ops, ...message } = JSON.parse(text) as { ops?: readonly object[] };
  if (ops === undefined) return text;
  return `${JSON.stringify(message).slice(0, -1)},"ops":[${ops.map((op) => `\n  ${JSON.stringify(op)}`).join(',')}\n]}`;
}

function note(of: string, text: string): HTMLElement {
  return make('p', { className: 'frame quiet' }, make('b', { textContent: of }), ` ${text}`);
}

/** The JSON as elements of the page, in which keys, texts and other values have colours. */
function coloured(text: string): (Node | string)[] {
  return text.split(/("(?:\\.|[^"\\])*"(?:\s*:)?|(?<![\w"])-?\d+(?:\.\d+)?(?![\w"])|\b(?:true|false|null)\b)/).map((part, index) => {
    if (index % 2 === 0) return part;
    const kind = part.endsWith(':') ? 'key' : part.startsWith('"') ? 'text' : 'value';
    return make('span', { className: kind, textContent: part });
  });
}
