import { coinop, type Client } from '/client.js';
import { showBrowsers, type Owner } from './browsers.ts';
import { copy } from './copy.ts';
import { byId, make, onPress } from './dom.ts';
import { forgetPlayers, isKept, MAIN_PLAYER } from './kept-players.ts';
import { explain, type Problem } from './problems.ts';
import { browserOf } from './user-agent.ts';

const { dataset } = byId('main');
const token = new URLSearchParams(location.search).get('token') ?? '';
const isPlayground = dataset['playground'] === 'on';

type Step = 'scan' | 'confirm' | 'deny';
type Claimed =
  | { ok: true; status: string; matchCode: string; requester: { address: string; userAgent: string; ageSeconds: number } }
  | { ok: false; error: Problem };

/** An account that is signed in in this browser, with the functions that scan, confirm or refuse the pairing. */
type Claimant = { readonly who: string; readonly take: (step: Step, name?: string) => Promise<Claimed>; readonly owner: Owner };

interface Action {
  readonly label: string;
  readonly isMain?: boolean;
  readonly run: (button: HTMLButtonElement) => Promise<unknown> | void;
}

const isPairToken = /^[\w-]{24}$/.test(token);
let timer: ReturnType<typeof setInterval> | undefined;
let watching: { close(): void } | undefined;
/** The account with which the person is asked to confirm the code. Undefined before the code was scanned. */
let asking: Claimant | undefined;

/** Shows a heading, a sentence and the possible actions. The heading gets the focus if a button had it before. */
function show(heading: string, lead: string, actions: readonly Action[] = [], hint = ''): void {
  const hadFocus = byId('view').contains(document.activeElement);
  byId('heading').textContent = heading;
  byId('lead').textContent = lead;
  byId('actions').replaceChildren(
    ...actions.map(({ label, isMain = false, run }) => {
      const button = make('button', { type: 'button', className: isMain ? 'primary' : '', textContent: label });
      onPress(button, () => run(button));
      return button;
    }),
    ...appLink(actions.every((action) => action.isMain !== true)),
  );
  byId('hint').textContent = hint;
  byId('hint').hidden = hint === '';
  for (const id of ['match', 'requester', 'left', 'name-field']) byId(id).hidden = true;
  // The text is set only if it changes, because a screen reader reads it again each time it is set.
  if (byId('said').textContent !== `${heading}. ${lead}`) byId('said').textContent = `${heading}. ${lead}`;
  clearInterval(timer);
  if (hadFocus) byId('heading').focus();
}

/** The link that opens the app with this code, if the operator has set one. The characters of the token need no encoding. */
function appLink(isMain: boolean): HTMLElement[] {
  const template = dataset['appLink'] ?? '';
  if (template === '' || !isPairToken) return [];
  return [
    make('a', {
      className: `button ${isMain ? 'primary' : ''}`,
      href: template.replaceAll('{token}', token),
      textContent: 'Open in the app',
    }),
  ];
}

/** Shows that the pairing has ended. There is no link into the app, because the app could not do more with the pairing either. */
function over(heading: string, lead: string): void {
  watching?.close();
  show(heading, lead);
  byId('actions').replaceChildren();
}

const again: Action = { label: 'Try again', isMain: true, run: () => begin() };

/** Shows why a step failed, and what to do now. */
function fail(error: Problem): void {
  switch (error.code) {
    case 'pair_not_found':
      return over('This code is gone', 'A code lives three minutes. Show a new one on the other screen, and scan that.');
    case 'pair_expired':
      return over('This code has expired', 'Nobody was signed in. Show a new code on the other screen, and scan that.');
    case 'pair_denied':
      return over('This sign-in was refused', 'Nobody was signed in. Show a new code on the other screen if that was a mistake.');
    case 'already_claimed':
      return over(
        'Somebody else took this code',
        'Another account has claimed the code. If that was not you, sign the other screen out, and show a new code there.',
      );
    case 'session_required':
    case 'sign_in_required':
    // The session has ended, so the service made the browser delete the session's cookie.
    case 'identity_required':
      return askToSignIn('The session of this browser has ended.');
    case 'account_deleted':
      return askToSignIn('The account of this browser was deleted.');
    default:
      show('That did not work', explain(error), [again]);
  }
}

const ask = async <Reply>(path: string, body?: object): Promise<Reply | { ok: false; error: Problem }> => {
  try {
    const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(path, body === undefined ? { cache: 'no-store' } : post);
    return (await response.json()) as Reply;
  } catch {
    return { ok: false, error: { code: 'network', message: '' } };
  }
};

/**
 * The status of the pairing. The request has no cookies, so it does not receive the session. If the website is open in this browser too,
 * the website has to receive the session, not this page.
 */
async function pairStatus(): Promise<string | Problem> {
  try {
    const response = await fetch(`/v1/pair/status?token=${token}`, { cache: 'no-store', credentials: 'omit' });
    const found = (await response.json()) as { ok: true; status: string } | { ok: false; error: Problem };
    return found.ok ? found.status : found.error;
  } catch {
    return { code: 'network', message: '' };
  }
}

/** The account that this browser's cookie has signed in. Undefined: none is. */
async function cookieClaimant(): Promise<Claimant | Problem | undefined> {
  try {
    const session = (await (await fetch('/v1/session', { cache: 'no-store' })).json()) as {
      ok: boolean;
      authenticated?: boolean;
      accountId?: string;
      error?: Problem;
    };
    if (!session.ok) return session.error;
    if (session.authenticated !== true) return undefined;
    return {
      who: session.accountId ?? '',
      take: (step, name) => ask<Claimed>('/v1/pair/claim', { token, step, name }),
      owner: { list: () => ask('/v1/sessions'), end: (id) => ask('/v1/sessions/end', { id }) },
    };
  } catch {
    return { code: 'network', message: '' };
  }
}

const clientOf = (): Client => coinop({ url: location.origin, name: `playground-${MAIN_PLAYER}`, timeoutMs: 6000 });

/**
 * The player of the playground in this browser. If the player's session has ended or the account was deleted, the next try makes a new
 * player.
 */
function playgroundClaimant(): Claimant {
  const client = clientOf();
  return {
    who: 'the player of the playground',
    owner: { list: () => client.sessions.list(), end: (id) => client.sessions.end({ id }) },
    async take(step, name) {
      const claimed = (await client.pairing.claim({ token, step, name })) as Claimed;
      if (!claimed.ok && ['session_required', 'sign_in_required', 'account_deleted'].includes(claimed.error.code)) forgetPlayers();
      return claimed;
    },
  };
}

async function begin(): Promise<void> {
  if (!isPairToken)
    return show(
      'This link is not complete',
      token === ''
        ? 'The address of this page has no code. Scan the code on the other screen again.'
        : "The code in the address of this page is not a pairing's. Scan the code on the other screen again.",
    );
  const [status, claimant] = await Promise.all([pairStatus(), cookieClaimant()]);
  // The status is checked first, so that nobody signs in or gets an account for a code that is no longer valid.
  if (typeof status === 'object') return fail(status);
  if (status === 'expired' || status === 'denied') return fail({ code: `pair_${status}`, message: '' });
  if (claimant !== undefined && 'code' in claimant) return fail(claimant);
  watch();
  if (claimant !== undefined) return inspect(claimant);
  if (isPlayground && isKept(MAIN_PLAYER)) return inspect(playgroundClaimant());
  if (status === 'claimed') return fail({ code: 'already_claimed', message: '' });
  askToSignIn('This browser has no session.');
}

function askToSignIn(why: string): void {
  if (isPlayground)
    return show(
      'Who are you here?',
      `${why} The playground can make a test player, and then asks you to confirm.`,
      [{ label: 'Make a test player', isMain: true, run: () => inspect(playgroundClaimant()) }],
      'Outside of a playground this page never makes an account.',
    );
  const hasLink = dataset['appLink'] !== '';
  show(
    'Sign in here first',
    `${why} ${hasLink ? 'Go on in the app or game that you are signed in to.' : 'Scan the code with the app that you are signed in to.'} If you play on a website, open it on this device, choose to sign in another screen there, and paste the link of this page.`,
    [
      { label: 'Copy the link', isMain: !hasLink, run: (button) => copy(location.href, button) },
      { ...again, isMain: false },
    ],
    'Nothing has been claimed. A code is valid for three minutes.',
  );
}

/** Scans the code for this account, and asks the person whether to confirm. */
async function inspect(claimant: Claimant): Promise<void> {
  asking = claimant;
  const found = await claimant.take('scan');
  if (!found.ok) return fail(found.error);
  if (found.status === 'claimed') return finished(claimant);
  if (found.status === 'denied') return fail({ code: 'pair_denied', message: '' });
  show('Sign in the other screen?', 'Confirm only if you see the same number there.', [
    { label: 'Yes, sign it in', isMain: true, run: () => decide(claimant, 'confirm') },
    { label: 'No, refuse', run: () => decide(claimant, 'deny') },
  ]);
  const { matchCode, requester } = found;
  byId('name-field').hidden = false;
  byId('match').hidden = false;
  byId('match-code').textContent = matchCode;
  byId('requester').hidden = false;
  byId('requester').replaceChildren(
    ...[
      ['Browser', browserOf(requester.userAgent)],
      ['Address', requester.address],
      ['You are', claimant.who],
    ].map(([term, text]) => make('div', {}, make('dt', { textContent: term! }), make('dd', {}, make('bdi', { textContent: text! })))),
  );
  countDown(Date.now() + (Number(dataset['lifeSeconds']) - requester.ageSeconds) * 1000);
}

function countDown(endsAt: number): void {
  const tick = (): void => {
    const seconds = Math.max(0, Math.ceil((endsAt - Date.now()) / 1000));
    byId('left').textContent =
      seconds > 0 ? `This code expires in ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}` : 'This code has expired';
  };
  byId('left').hidden = false;
  tick();
  timer = setInterval(tick, 1000);
}

async function decide(claimant: Claimant, step: 'confirm' | 'deny'): Promise<void> {
  const name = byId<HTMLInputElement>('name').value.trim();
  const result = await claimant.take(step, step === 'confirm' && name !== '' ? name : undefined);
  if (!result.ok) return fail(result.error);
  if (step === 'confirm') return finished(claimant);
  if (result.status === 'denied') return refused();
  if (result.status === 'claimed') return fail({ code: 'already_claimed', message: '' });
  if (result.status === 'expired') return fail({ code: 'pair_expired', message: '' });
  over(
    'This code is still open',
    'Another account has scanned the code too, so your refusal does not end it. Close it on the other screen, or show a new one there.',
  );
}

function refused(): void {
  over('Refused', 'Nobody was signed in. You can close this page.');
}

function finished(claimant: Claimant): void {
  over('Done', 'The other screen is signed in. You can close this page.');
  const button = make('button', { type: 'button', textContent: 'Show my signed-in browsers' });
  onPress(button, () => showBrowsers(claimant.owner));
  byId('actions').replaceChildren(button);
}

/** Shows the result after the pairing was claimed in another tab of this browser, or by another person who scanned the code. */
async function claimed(): Promise<void> {
  if (asking === undefined) return fail({ code: 'already_claimed', message: '' });
  const found = await asking.take('scan');
  if (found.ok) finished(asking);
  else fail(found.error);
}

/** Watches the pairing. So an open page shows when the code expires, or when another tab claims or refuses the pairing. */
function watch(): void {
  watching?.close();
  const follower = coinop({ url: location.origin, name: 'pair', store: null, onWarning: () => {} });
  const watched = follower.watchPairing({ token }, ({ status }) => {
    if (status === 'expired') fail({ code: 'pair_expired', message: '' });
    if (status === 'claimed') void claimed();
    if (status === 'denied') refused();
  });
  watching = { close: () => (watched.close(), follower.close()) };
  void watched.ended.then(({ code }) => code === 'gone' && fail({ code: 'pair_not_found', message: '' }));
}

void begin();
