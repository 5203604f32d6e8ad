import { call, Failed, type Operator } from './console-calls.ts';
import { field, type Shown } from './console-parts.ts';
import { make, onPress, onSubmit } from '../../../web/browser/dom.ts';

/**
 * The key is in this field until it is sent, and in no other place of the browser. It is not a password field, because browsers offer to
 * save passwords; the style sheet hides the letters.
 */
export function keyInput(): HTMLInputElement {
  return make('input', {
    className: 'secret',
    name: 'key',
    autocomplete: 'off',
    autocapitalize: 'off',
    spellcheck: false,
    required: true,
    maxLength: 100,
  });
}

/** The label for the field in which the key is typed again. The same forms also show other keys, for example the key of an event. */
export const SIGN_IN_KEY = 'Your sign-in key (coinop_sk_…)';

/**
 * Confirms an operator who types the key once more before a change that cannot be undone.
 * @throws Failed
 */
export async function confirmKey(key: HTMLInputElement): Promise<void> {
  try {
    await call('/console/session/confirm', { body: {}, key: key.value.trim() });
  } catch (error) {
    const isOther = error instanceof Failed && ['bad_key', 'forbidden', 'server_only'].includes(error.code);
    if (!isOther || error.details['isOver'] === true) throw error;
    key.focus();
    key.select();
    throw new Failed('bad_key', 'That is not your sign-in key. Nothing was changed.');
  }
}

/** How operators prove their identity once more, before a change that cannot be undone. */
export interface Proof {
  readonly part: HTMLElement;
  /** For the focus. */
  readonly first: HTMLElement;
  /** @throws Failed if the operator has not proved it */
  readonly confirm: () => Promise<void>;
}

/** By the key, or at the provider of the sign-in. The provider opens in another tab. */
export function proofOf({ provider }: Operator): Proof {
  if (provider === undefined) {
    const key = keyInput();
    return { part: field(SIGN_IN_KEY, key), first: key, confirm: () => confirmKey(key) };
  }
  const said = make('span', { className: 'hint' });
  said.setAttribute('role', 'status');
  const open = make('button', { type: 'button', textContent: `Prove at ${provider} that it is you` });
  onPress(open, async () => {
    // The tab is opened before the answer arrives, because browsers allow this only right after a press.
    const tab = window.open('about:blank');
    try {
      const { address } = await call('/console/sign-in', { body: { provider, confirm: true } });
      said.textContent = 'Sign in there, close that tab, and go on here.';
      if (tab === null) location.assign(address as string);
      else tab.location.assign(address as string);
    } catch (error) {
      tab?.close();
      said.textContent = (error as Error).message;
    }
  });
  const confirm = async (): Promise<void> => {
    const { confirmedUntil } = await call('/console/session');
    if (Date.parse(confirmedUntil as string) > Date.now()) return;
    throw new Failed('forbidden', `First prove at ${provider} that it is you. Nothing was changed.`);
  };
  return { part: make('div', { className: 'row' }, open, said), first: open, confirm };
}

/** Checks whether the browser kept the cookie of the sign-in. @throws Failed that says why not */
async function checkCookie(): Promise<void> {
  try {
    await call('/console/session');
  } catch (error) {
    if (!(error instanceof Failed) || error.code !== 'server_only') throw error;
    const why =
      location.protocol === 'http:'
        ? 'In production the cookie is sent over https only, but this page came over http: open it over https.'
        : 'Let it keep cookies of this site.';
    throw new Failed('no_cookie', `The key is right, but the browser did not keep the cookie of the sign-in. ${why}`);
  }
}

const WHY: Readonly<Record<string, string>> = {
  stale: 'That sign-in was not begun in this browser, was used before, or took longer than ten minutes. Sign in again.',
  denied: 'The provider did not sign you in.',
  away: 'The provider does not answer. Try again in a moment.',
  bad_token: 'The answer of the provider is not valid. The log of the service says why.',
  no_group: 'You are in no group that has a role here. Ask an administrator of your provider.',
  other_person: 'That was another person than the one who is signed in here. Nothing was confirmed.',
  not_fresh: 'The provider did not ask you to sign in again, so nothing was confirmed.',
  ended: 'The session of the console has ended. Sign in again.',
};

/** The reason why the sign-in at a provider has failed, by the word in the address to which the service has sent the browser. */
export const whyOf = (word: string): string => (Object.hasOwn(WHY, word) ? WHY[word]! : '');

/** How operators sign in: at a provider of CONSOLE_SIGN_IN, or with a key. @param signedIn called with the operator who signed in by a key */
export async function signInView(signedIn: (operator: Operator) => void, why = ''): Promise<Shown> {
  const { providers } = (await call('/console/sign-in').catch(() => ({ providers: [] }))) as { providers: string[] };
  return providers.length === 0 ? keyView(signedIn, why) : providersView(providers, why);
}

function providersView(providers: readonly string[], why: string): Shown {
  const said = make('p', { className: 'said', textContent: why });
  said.setAttribute('role', 'status');
  const buttons = providers.map((provider) => {
    const begin = make('button', { type: 'button', className: 'primary', textContent: `Sign in at ${provider}` });
    onPress(begin, async () => {
      said.textContent = '';
      try {
        location.assign((await call('/console/sign-in', { body: { provider } })).address as string);
      } catch (error) {
        said.textContent = (error as Error).message;
      }
    });
    return begin;
  });
  return { title: 'Sign in', parts: [make('div', { className: 'card narrow stack' }, ...buttons, said)] };
}

function keyView(signedIn: (operator: Operator) => void, why: string): Shown {
  const key = keyInput();
  const said = make('p', { className: 'said', textContent: why });
  said.setAttribute('role', 'status');
  const form = make(
    'form',
    { className: 'stack' },
    field('Your key', key, 'The key begins with coinop_sk_. You are signed in for an hour, and this browser does not keep the key.'),
    make('button', { type: 'submit', className: 'primary', textContent: 'Sign in' }),
    said,
  );
  onSubmit(form, async () => {
    said.textContent = '';
    try {
      const { ok: _, ...operator } = await call('/console/session', { body: {}, key: key.value.trim() });
      await checkCookie();
      key.value = '';
      signedIn(operator as Operator);
    } catch (error) {
      key.select();
      said.textContent =
        (error as Failed).code === 'bad_key'
          ? 'This key is not valid: it is mistyped, it has ended, or it was revoked.'
          : (error as Error).message;
    }
  });
  return { title: 'Sign in', parts: [make('div', { className: 'card narrow' }, form)] };
}
