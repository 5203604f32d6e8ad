import { byId, make, onPress } from './dom.ts';
import { explain, type Problem } from './problems.ts';
import { browserOf } from './user-agent.ts';

/** A session in the reply of `GET /v1/sessions`. */
interface SignedIn {
  readonly id: string;
  readonly kind: string;
  readonly createdAt: string;
  readonly userAgent?: string;
  readonly current: boolean;
}

type Failed = { ok: false; error: Problem };

/** The account whose signed-in browsers the page shows: how to list its sessions, and how to end one. */
export interface Owner {
  readonly list: () => Promise<{ ok: true; sessions: readonly SignedIn[] } | Failed>;
  readonly end: (id: string) => Promise<{ ok: true } | Failed>;
}

const KINDS: Readonly<Record<string, string>> = { pairing: 'by a QR code', store: 'with the app store', login: 'on this device' };

/** Shows the browsers that are signed in to the account, each with a button that ends its session. */
export async function showBrowsers(owner: Owner): Promise<void> {
  const found = await owner.list();
  byId('browsers').hidden = false;
  if (!found.ok) return say(explain(found.error));
  byId('browser-list').replaceChildren(...found.sessions.map((session) => rowOf(session, owner)));
  say(found.sessions.length === 0 ? 'No other browser is signed in by a QR code.' : '');
}

function rowOf({ id, kind, createdAt, userAgent, current }: SignedIn, owner: Owner): HTMLElement {
  const browser = browserOf(userAgent);
  const at = new Date(createdAt).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
  // The name of a browser may be any text, because the client sends it.
  const about = make('span', {}, make('bdi', { textContent: browser }), ` · ${KINDS[kind] ?? kind}, ${at}`);
  if (current) return make('li', { className: 'stack' }, about, make('strong', { textContent: 'This one' }));
  const button = make('button', { type: 'button', textContent: 'End' });
  button.setAttribute('aria-label', `End the session of ${browser}`);
  onPress(button, async () => {
    const ended = await owner.end(id);
    await showBrowsers(owner);
    say(ended.ok ? 'The session has ended.' : explain(ended.error));
    byId('browsers-heading').focus();
  });
  return make('li', { className: 'stack' }, about, button);
}

function say(text: string): void {
  byId('browsers-said').textContent = text;
}
