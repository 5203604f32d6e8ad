import type { Client } from '/client.js';
import { byId, formatted, inCoins, onPress, sayProblem, setEnabled } from '../../../web/browser/dom.ts';
import { signedIn } from './players.ts';
import { issue } from './sandbox.ts';
import { chosenShop, type Shop, type Sold } from './shops.ts';
import { explain } from '../../../web/browser/problems.ts';
import type { Wire } from './wire.ts';

/**
 * Milliseconds between two requests for the ledger after a refund. The service checks the purchase with the store soon after the refund.
 */
const ASK_EVERY_MS = 500;

/** The highest number of requests for the ledger after a refund. */
const ASKS = 20;

/**
 * A part of the step about coins: a person buys coins in the sandbox, and makes the store refund them.
 * @param refresh shows the ledger again, and points out the entry with this idempotency key
 */
export function showShop(me: Client, wire: Wire, refresh: (key?: string) => Promise<void>): void {
  if (document.getElementById('coins-buy') === null) return;
  const [said, refundButton] = [byId('coins-said'), byId('coins-refund')];
  let bought: { readonly shop: Shop; readonly sold: Sold; readonly coins: number } | undefined;

  const buy = async (): Promise<void> => {
    const session = await signedIn(me);
    if (!session.ok) return sayProblem(said, explain(session.error));
    const listed = await me.products.list();
    if (!listed.ok) return sayProblem(said, explain(listed.error));
    const shop = chosenShop('coins');
    const { store } = shop;
    const sku = listed.products.find(({ stores }) => stores[store] !== undefined)?.stores[store];
    if (sku === undefined) return sayProblem(said, 'The catalogue has no product that this store sells.');
    const sold = await issue(wire, { kind: 'purchase', store, productId: sku });
    if (!sold.ok) return sayProblem(said, explain(sold.error));
    const result = await me.purchases.buy(shop.proofIn(sold));
    if (!result.ok) {
      sayProblem(said, `${explain(result.error)}${result.pending ? ' The purchase waits in this browser, and will be sent again.' : ''}`);
      return;
    }
    const { coins, purchaseId } = result.purchase;
    bought = { shop, sold, coins };
    setEnabled(refundButton, true);
    said.textContent = `The store confirmed the purchase: ${inCoins(coins)} ${coins === 1 ? 'is' : 'are'} booked, and the store knows. ${owed(result.debtCoins)}`;
    await refresh(`topup·${store}·${purchaseId}·1`);
  };

  const refund = async (): Promise<void> => {
    if (bought === undefined) return;
    const { shop, sold, coins } = bought;
    const issued = await issue(wire, { kind: 'purchase', ...shop.refundOf('purchase', sold), notify: true });
    if (!issued.ok) return sayProblem(said, explain(issued.error));
    bought = undefined;
    setEnabled(refundButton, false);
    said.textContent = 'The store refunds the purchase, and notifies the service.';
    for (let asks = 0; asks < ASKS; asks++) {
      const history = await me.coins.history({ limit: '1' });
      if (!history.ok) return sayProblem(said, explain(history.error));
      const [newest] = history.entries;
      if (newest?.type === 'refund') {
        said.textContent = `The service asked the store, and took ${inCoins(coins)} back. ${owed(-newest.balanceAfterCoins)}`;
        return refresh(newest.key);
      }
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    }
    said.textContent = 'The service has not asked the store yet. Reload the page in a moment.';
  };

  onPress(byId('coins-buy'), buy);
  onPress(refundButton, refund);
}

function owed(coins: number | undefined): string {
  return coins === undefined || coins <= 0 ? '' : `The account owes ${formatted(coins)}: coins that come in pay that first.`;
}
