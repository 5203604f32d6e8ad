import { call, Failed, type Operator } from './console-calls.ts';
import { field, type Shown } from './console-parts.ts';
import { make, onSubmit } from '../../../web/browser/dom.ts';

/**
 * The key is in this field until it is sent, and nowhere else in the browser. It is not a password field, because browsers offer to save
 * passwords; the style sheet hides the letters.
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

/** The label when the key is asked for again. The same forms have other keys, for example of an event. */
export const SIGN_IN_KEY = 'Your sign-in key (coinop_sk_…)';

/**
 * Confirms the key, typed once more before a change that cannot be undone.
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

/** Whether the browser kept the cookie of the sign-in. @throws Failed that says why not */
async function checkCookie(): Promise<void> {
  try {
    await call('/console/session');
  } catch (error) {
    if (!(error instanceof Failed) || error.code !== 'server_only') throw error;
    const why =
      location.protocol === 'http:'
        ? 'In production it is sent over https only, and this page came over http: open it over https.'
        : 'Let it keep cookies of this site.';
    throw new Failed('no_cookie', `The key is right, but the browser did not keep the cookie of the sign-in. ${why}`);
  }
}

/** The form that asks for a key. @param signedIn called with the operator who signed in */
export function signInView(signedIn: (operator: Operator) => void, why = ''): Shown {
  const key = keyInput();
  const said = make('p', { className: 'said', textContent: why });
  said.setAttribute('role', 'status');
  const form = make(
    'form',
    { className: 'stack' },
    field('Your key', key, 'It begins with coinop_sk_. You are signed in for an hour; the key is not kept in this browser.'),
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
