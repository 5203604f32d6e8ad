import { byId, leadTo, onPress, sayProblem, setEnabled } from '../../../web/browser/dom.ts';
import { isKept, MAIN_PLAYER } from '../../../web/browser/kept-players.ts';
import { madeId, player, signedIn } from './players.ts';
import { explain, type Problem } from '../../../web/browser/problems.ts';
import { issue } from './sandbox.ts';
import { chosenShop, type Shop, type Sold } from './shops.ts';
import { wireOf } from './wire.ts';

type Reply = ({ ok: true } & Record<string, unknown>) | { ok: false; error: Problem };

/**
 * Milliseconds between two requests for the entitlement after a refund. The service checks the purchase with the store soon after the
 * refund.
 */
const ASK_EVERY_MS = 700;

/** The highest number of requests for the entitlement after a refund. */
const ASKS = 12;

/** The step about access: a trial, a purchase in the sandbox, its refund, and the entitlement after each of them. */
export function showAccess(): void {
  const [said, wire] = [byId('access-said'), wireOf('access')];
  // The step about coins has its own client object for the same player. It sends the coin operations.
  const me = player(MAIN_PLAYER, wire);
  let bought: { readonly shop: Shop; readonly sold: Sold } | undefined;

  /** Sends a request for which the client library has no method. */
  const post = async (path: string, body: object, headers: Record<string, string> = {}): Promise<Reply> => {
    const { sessionToken } = await me.who();
    try {
      const response = await wire.fetch(location.origin + path, {
        method: 'POST',
        credentials: 'omit',
        headers: {
          ...(sessionToken === undefined ? {} : { authorization: `Bearer ${sessionToken}` }),
          'content-type': 'application/json',
          ...headers,
        },
        body: JSON.stringify(body),
      });
      return (await response.json()) as Reply;
    } catch {
      return { ok: false, error: { code: 'network', message: '' } };
    }
  };

  /** Runs the steps until one fails, and shows the problem of that step. Returns whether all steps succeeded. */
  const done = async (...steps: readonly (() => Promise<{ ok: boolean; error?: Problem }>)[]): Promise<boolean> => {
    for (const step of steps) {
      const reply = await step();
      if (!reply.ok) {
        sayProblem(said, explain(reply.error!));
        return false;
      }
    }
    return true;
  };

  /** Reads and shows the player's entitlement. @returns undefined if there was no answer */
  const read = async (): Promise<{ state: string; access: boolean } | undefined> => {
    const found = await me.entitlement.current();
    if (!found.ok) {
      sayProblem(said, explain(found.error));
      return undefined;
    }
    const shownState = found.state === 'grace' ? 'subscribed' : found.state;
    for (const mark of byId('access-track').children) {
      if ((mark as HTMLElement).dataset['state'] === shownState) mark.setAttribute('aria-current', 'step');
      else mark.removeAttribute('aria-current');
    }
    const [state, access, until] = byId('access-facts').querySelectorAll('dd');
    state!.textContent = found.state;
    access!.textContent = found.access ? 'yes' : 'no';
    until!.textContent =
      found.expiresAt === undefined ? '–' : new Date(found.expiresAt).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
    return found;
  };

  const startTrial = async (): Promise<void> => {
    const device = madeId('device');
    const isDone = await done(
      () => signedIn(me),
      () => me.trial.touch({ deviceId: device }),
      () => post('/v1/trial/link', {}, { 'x-device-id': device }),
    );
    if (!isDone || (await read()) === undefined) return;
    said.textContent = 'The trial runs by the clock of the server. Pressing again does not start another one.';
    leadTo(document.getElementById('access-buy'), byId('access'));
  };

  const buy = async (): Promise<void> => {
    const shop = chosenShop('access');
    const isDone = await done(
      () => signedIn(me),
      async () => {
        const sold = await issue(wire, { kind: 'subscription', store: shop.store, minutes: 5 });
        if (sold.ok) bought = { shop, sold };
        return sold;
      },
      () => me.subscription.purchase(shop.proofIn(bought!.sold)),
    );
    if (!isDone || (await read()) === undefined) return;
    said.textContent = 'The sandbox confirmed the purchase. The same code asks a real store.';
    setEnabled(byId('access-refund'), true);
    leadTo(byId('access-refund'), byId('access'));
  };

  const refund = async (): Promise<void> => {
    const { shop, sold } = bought!;
    const order = { kind: 'subscription', ...shop.refundOf('subscription', sold), notify: true };
    if (!(await done(() => issue(wire, order)))) return;
    setEnabled(byId('access-refund'), false);
    leadTo(byId('access-buy'), byId('access'));
    said.textContent = 'The store refunds the purchase, and notifies the service.';
    for (let asks = 0; asks < ASKS; asks++) {
      const found = await read();
      if (found === undefined) return;
      if (found.state !== 'subscribed' && found.state !== 'grace') {
        said.textContent = found.access
          ? 'The service asked the store again, and the subscription is over. The trial still gives access.'
          : 'The service asked the store again, and took the access back.';
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    }
    said.textContent = 'The service has not asked the store yet. Ask again in a moment.';
  };

  onPress(byId('access-trial'), startTrial);
  onPress(byId('access-look'), async () => {
    if (await done(() => signedIn(me))) await read();
  });
  if (document.getElementById('access-buy') !== null) {
    onPress(byId('access-buy'), buy);
    onPress(byId('access-refund'), refund);
  }
  if (isKept(MAIN_PLAYER)) void read();
}
