import { byId, inCoins, leadTo, make, onPress, sayProblem, setEnabled } from '../../../web/browser/dom.ts';
import { player } from './players.ts';
import { explain } from '../../../web/browser/problems.ts';
import { wireOf } from './wire.ts';
import type { Watch } from '/client.js';

/** The step about pairing: a website that a phone signs in. */
export function showPairing(): void {
  const [said, match, left, link, open] = ['said', 'match', 'left', 'link', 'open'].map((part) => byId(`pairing-${part}`)) as [
    HTMLElement,
    HTMLElement,
    HTMLElement,
    HTMLAnchorElement,
    HTMLElement,
  ];
  // This client has no storage, so that no user is signed in to the website when a person visits the page.
  const website = player('website', wireOf('pairing'), { store: null, onWarning: () => {} });
  let watch: Watch | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;

  const close = (text: string): void => {
    clearInterval(timer);
    left.textContent = text;
    byId('pairing-qr').classList.add('over');
    link.removeAttribute('href');
    setEnabled(link, false);
    leadTo(open, byId('pairing'));
    open.textContent = 'Show a new code';
  };

  const expire = (): void => {
    close('This code is over');
    sayProblem(said, 'The code expired before a phone claimed it. Show a new one.');
  };

  /** Opens a pairing and shows its code. The button is done when the code is on the page; the watch goes on. */
  const showOpen = async (): Promise<void> => {
    if ((await website.who()).sessionToken !== undefined) await website.sessions.logout();
    const pairing = await website.pairing.open();
    if (!pairing.ok) return sayProblem(said, explain(pairing.error));
    // The old watch is closed only now. Until there was a new code, a phone could still claim the old one.
    watch?.close();
    const image = make('img', { alt: `QR code of a pairing. It holds the address ${pairing.url}`, width: 216, height: 216 });
    image.src = `/v1/pair/qr.svg?token=${encodeURIComponent(pairing.token)}`;
    byId('pairing-qr').classList.remove('over');
    byId('pairing-qr').replaceChildren(image);
    match.textContent = pairing.matchCode;
    // Whatever address the pairing's URL has, the link leads to the service's own page.
    link.href = `/pair?token=${encodeURIComponent(pairing.token)}`;
    setEnabled(link, true);
    leadTo(link, byId('pairing'));
    open.textContent = 'Show another code';
    byId('pairing-reach').textContent = ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(pairing.url).hostname)
      ? 'A phone cannot reach this address. Start the service with HOST=0.0.0.0, and open this page under the address of this machine.'
      : '';
    countDown(Date.now() + pairing.expiresIn * 1000);
    said.textContent = 'Waiting for a phone.';
    watch = website.watchPairing(pairing, ({ status, claimedBy }) => void shown(status, claimedBy?.name));
    void watch.ended.then(({ code }) => {
      if (code === 'closed' || code === 'finished') return;
      close('This code is over');
      sayProblem(said, code === 'gone' ? 'This pairing does not exist any more. Show a new code.' : `The watch ended: ${code}.`);
    });
  };

  const countDown = (endsAt: number): void => {
    clearInterval(timer);
    const tick = (): void => {
      const seconds = Math.max(0, Math.ceil((endsAt - Date.now()) / 1000));
      left.textContent = `Valid for ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
      // The status may come later or not at all: the service may be down, or the computer has just woken up.
      if (seconds === 0) expire();
    };
    timer = setInterval(tick, 1000);
    tick();
  };

  const shown = async (status: string, claimant?: string): Promise<void> => {
    if (status === 'scanned') said.textContent = 'A phone has scanned the code. Compare the match code, and confirm there.';
    if (status === 'denied') {
      close('This code is over');
      sayProblem(said, 'The phone refused. Nobody was signed in.');
    }
    if (status === 'expired') expire();
    if (status === 'claimed') {
      close('This code is used');
      const [{ accountId = 'unknown' }, balance] = [await website.who(), await website.coins.balance()];
      said.textContent = balance.ok
        ? `Signed in${claimant === undefined ? '' : ` by ${claimant}`} as ${accountId}, with ${inCoins(balance.balanceCoins)}.`
        : `Claimed, and ${explain(balance.error)}`;
      byId('pairing-qr').replaceChildren(make('p', { className: 'done', textContent: '✓ Signed in' }));
      byId('pairing-qr').classList.remove('over');
    }
  };
  onPress(open, showOpen);
}
