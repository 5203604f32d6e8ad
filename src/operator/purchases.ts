import { z } from 'zod';
import { isoTime } from '../accounts/merge-rules.ts';
import { ACCOUNT_ID, AccountId } from '../accounts/ids.ts';
import { invalid, refuse, Refusal } from '../errors.ts';
import { ledgerEnds } from '../features/coins/operator-history.ts';
import { findPurchase, checkSoon, stuckPurchases } from '../features/purchases/coins/find-purchase.ts';
import { PurchaseId } from '../features/purchases/coins/shown-coin-purchase.ts';
import { isUnbooked, MOST_MOVES, type PurchaseDocument } from '../features/purchases/coins/model.ts';
import { movePurchase as moveCoins } from '../features/purchases/coins/move-purchase.ts';
import { nameOfPurchase } from '../features/purchases/coins/purchase-record.ts';
import { OperatorPurchase, operatorPurchase, ShownPurchase } from '../features/purchases/coins/operator-purchase.ts';
import { moveSubscriptionPurchase } from '../features/purchases/subscription/move-purchase.ts';
import { UnownedPurchase, unownedPurchases } from '../features/purchases/subscription/operator-purchases.ts';
import { readPurchase as readSubscription } from '../features/purchases/subscription/purchase-document.ts';
import { Parts } from '../redis/unreadable.ts';
import { factsWhereItIs, followed } from './account-facts.ts';
import { Account } from './named-accounts.ts';
import { operation, Reason, Ticket, type OperatorServices, type Prepared } from './operation.ts';
import { table } from './shown/cells.ts';
import { life, lifeOf, purchaseFacts, stuckPurchases as stuckShown, unownedSubscriptions } from './shown/shown-purchases.ts';

const Named = z
  .string()
  .regex(/^[\w.-]{1,255}$/, "Must be a purchaseId or the store's order number")
  .meta({
    description: "A purchaseId, or the order number that the store's console and the buyer's receipt show.",
    example: 'GPA.3345-1234-5678-90123',
  });

export const showPurchase = operation({
  name: 'purchases show',
  method: 'GET',
  path: '/v1/admin/purchases/{purchase}',
  operationId: 'showPurchase',
  role: 'viewer',
  summary: 'A purchase of coins, found by its id or by the order number of the store.',
  description: 'The token of the purchase is a secret, and is not shown.',
  input: z.object({ purchase: Named }),
  reply: z.object({ purchase: ShownPurchase }),
  errors: ['purchase_not_found'],
  example: `curl -s $base/v1/admin/purchases/GPA.3345-1234-5678-90123 -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ purchase }) => [
    `Purchase ${purchase.purchaseId}`,
    { title: '', facts: purchaseFacts(purchase) },
    table(life, lifeOf(purchase)),
  ],
  async prepare({ purchase }, { scripts }) {
    const parts = new Parts();
    const found = await findPurchase(purchase, scripts, parts);
    if (found === undefined && parts.unreadable.length === 0) return refuse('purchase_not_found');
    const shown = found && (await parts.read(nameOfPurchase(found.purchaseId), () => operatorPurchase(found.purchaseId, found.document)));
    return { reply: { purchase: shown ?? { purchaseId: found?.purchaseId ?? purchase }, unreadable: parts.unreadable } };
  },
});

const StuckPurchase = OperatorPurchase.extend({ nextLookAt: z.iso.datetime() }).meta({ id: 'StuckPurchase' });

export const listStuckPurchases = operation({
  name: 'purchases stuck',
  method: 'GET',
  path: '/v1/admin/purchases',
  operationId: 'listStuckPurchases',
  role: 'viewer',
  costly: true,
  summary: 'Unfinished purchases, and subscriptions without an owner.',
  description:
    'Purchases of coins that are pending, lack their ledger entry, or whose grant the store does not know of yet: the queue handles each by itself. ' +
    'Subscriptions of which a notification told, and that no account owns: they wait, unacknowledged, for the first account that sends their ' +
    'token, and `refundAt` says when the store refunds them. `purchases move` gives one to an account. At most 50 of each: the purchases of coins that are due first, the subscriptions that are refunded first.',
  input: z.object({}),
  reply: z.object({
    purchases: z.array(StuckPurchase),
    subscriptions: z.array(UnownedPurchase),
  }),
  example: `curl -s $base/v1/admin/purchases -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ purchases, subscriptions }) => [table(stuckShown, purchases), table(unownedSubscriptions, subscriptions)],
  async prepare(_, { scripts }) {
    const parts = new Parts();
    const [stuck = [], subscriptions = []] = await Promise.all([
      parts.read('queue of purchases of coins', () => stuckPurchases(scripts, parts)),
      parts.read('queue of subscriptions without an owner', () => unownedPurchases(scripts, parts)),
    ]);
    const purchases = stuck.map(({ purchaseId, document, dueAt }) => ({
      ...operatorPurchase(purchaseId, document),
      nextLookAt: isoTime(dueAt)!,
    }));
    return { reply: { purchases, subscriptions, unreadable: parts.unreadable } };
  },
});

export const lookAtPurchase = operation({
  name: 'purchases look',
  method: 'POST',
  path: '/v1/admin/purchases/{purchase}/look',
  operationId: 'lookAtPurchase',
  title: 'Ask the store now',
  role: 'support',
  summary: 'Makes the service ask the store about a purchase of coins within a second, and act on the answer.',
  description: "It changes nothing by itself: the store's answer decides.",
  input: z.object({ purchase: Named, reason: Reason }),
  reply: z.object({ purchaseId: PurchaseId }),
  errors: ['purchase_not_found'],
  example:
    `curl -s $base/v1/admin/purchases/GPA.3345-1234-5678-90123/look -H "authorization: Bearer $COINOP_KEY" ` +
    `-H 'content-type: application/json' -d '{"reason":"refunded in the console, ticket 4711"}'`,
  shown: ({ purchaseId }) => [`If the service is running, it asks the store about ${purchaseId} within a second.`],
  async prepare({ purchase, reason }, services) {
    const found = await findPurchase(purchase, services.scripts);
    if (found === undefined) return refuse('purchase_not_found');
    const { purchaseId, document } = found;
    return {
      question: `Ask the store about the purchase ${purchaseId} of ${document.productId}? Reason: ${reason}`,
      what: { purchase: purchaseId, ...(document.owner === '-' ? {} : { account: document.owner }) },
      why: reason,
      async act() {
        await checkSoon(purchaseId, services);
        return { purchaseId };
      },
    };
  },
});

const MoveReply = z.object({
  purchase: z.string(),
  accountId: AccountId.meta({ description: 'The owner now.' }),
  movedFrom: AccountId.optional().meta({ description: 'Left out: nobody owned the subscription.' }),
  coins: z.int().optional().meta({ description: 'Only for a purchase of coins: the coins that moved with it.' }),
  takenCoins: z
    .int()
    .optional()
    .meta({ description: 'Coins taken from the previous owner. Left out: a running service still has to write the entries.' }),
  replayed: z.literal(true).optional(),
});

export const movePurchase = operation({
  name: 'purchases move',
  method: 'POST',
  path: '/v1/admin/purchases/{purchase}/move',
  words: ['account'],
  operationId: 'movePurchase',
  role: 'economist',
  summary: 'Gives a purchase of coins, or of a subscription, to another account, once for each key.',
  description:
    'For a buyer who used another account. The coins that the purchase granted, less those that refunds took, move with it: an entry `refund` ' +
    'takes them from the previous owner, down to a debt (with REFUNDS=floor down to 0), and an entry `topup` gives them to the new owner. ' +
    'Later refunds concern the new owner. To undo a move, move the purchase back with another key. A purchase can be moved ' +
    `${MOST_MOVES} times. A ` +
    'subscription gives its access to the new account and no longer to the previous one. ' +
    'A subscription that nobody owns (`purchases stuck`) is acknowledged then.',
  input: z.object({ purchase: Named, account: Account, key: Ticket, reason: Reason }),
  reply: MoveReply,
  errors: ['purchase_not_found', 'account_not_found', 'account_deleted', 'key_reused', 'invalid_request'],
  example:
    `curl -s $base/v1/admin/purchases/GPA.3345-1234-5678-90123/move -H "authorization: Bearer $COINOP_KEY" ` +
    `-H 'content-type: application/json' -d '{"account":"BQ5v1mHk2nYtZ8cXw0aLpR","key":"ticket-4711","reason":"bought as a guest, ticket 4711"}'`,
  shown: ({ purchase, accountId, movedFrom, coins, takenCoins, replayed }) => {
    const along =
      coins === undefined ? '' : ` ${coins} coins went along; ${takenCoins ?? 'not yet known how many'} were taken from ${movedFrom}.`;
    const from = movedFrom === undefined ? '' : ` of ${movedFrom}`;
    return [`${replayed === true ? 'The key was used before: ' : ''}The purchase ${purchase}${from} is that of ${accountId} now.${along}`];
  },
  async prepare({ purchase, account: asked, key, reason }, services, { by }) {
    const account = await followed(asked, services);
    if (account instanceof Refusal) return account;
    const found = await findPurchase(purchase, services.scripts);
    const { accountId } = account;
    if (found === undefined) return moveSubscription(purchase, { accountId, key, reason }, services);
    const { purchaseId, document } = found;
    const { owner } = document;
    if (owner === '-') return refuse('account_deleted', { message: 'Its account was deleted, so nobody can get it.' });
    const before = await factsWhereItIs(owner, services);
    if (before.accountId === accountId && !document.moves.some((move) => move.key === key)) return owns();
    const [from, to] = await Promise.all([before.accountId, accountId].map((id) => ledgerEnds(id, services.scripts)));
    const coins = Math.max(0, document.granted - document.taken);
    return {
      question:
        `Move the purchase ${purchaseId} of ${document.productId} (${coins} coins) from the account ${before.accountId}, which has ${from!.balance}, to ` +
        `the account ${accountId}, which has ${to!.balance}? Key: ${key}. Reason: ${reason}`,
      foreseen: foreseenMove(document, accountId, key),
      what: { purchase: purchaseId, account: accountId, from: before.accountId, coins, key },
      why: reason,
      noted: ({ takenCoins, replayed }) => ({ takenCoins, replayed: replayed && 'yes' }),
      async act() {
        if (!services.keySecret.isKnown) await services.keySecret.read();
        const moved = await moveCoins(purchaseId, { ownerSeen: owner, owner: accountId, key, by, reason }, services);
        if (!('document' in moved)) return refusedMove(moved.word);
        const move = moved.document.moves.find((listed) => listed.key === key)!;
        return {
          purchase: purchaseId,
          accountId: move.to,
          movedFrom: move.from,
          coins: move.coins,
          takenCoins: move.taken,
          ...(moved.word === 'replayed' ? { replayed: true as const } : {}),
        };
      },
    };
  },
});

/** Like `movePurchase`, but for a subscription. */
async function moveSubscription(
  purchase: string,
  { accountId, key, reason }: { readonly accountId: string; readonly key: string; readonly reason: string },
  services: OperatorServices,
): Promise<Prepared<z.input<typeof MoveReply>> | Refusal> {
  const document = ACCOUNT_ID.test(purchase) ? await readSubscription(purchase, services.scripts) : undefined;
  if (document === undefined || document.productId === '' || document.owner === '-') return refuse('purchase_not_found');
  const movedFrom = document.owner === '' ? undefined : (await factsWhereItIs(document.owner, services)).accountId;
  const from = movedFrom === undefined ? 'which nobody owns' : `from the account ${movedFrom}`;
  return {
    question: `Move the purchase ${purchase} of ${document.productId}, ${from}, to the account ${accountId}? Key: ${key}. Reason: ${reason}`,
    what: { purchase, account: accountId, from: movedFrom, key },
    why: reason,
    noted: ({ replayed }) => ({ replayed: replayed && 'yes' }),
    async act() {
      const word = await moveSubscriptionPurchase(purchase, { ownerSeen: document.owner, owner: accountId, key }, services);
      if (word === 'owned') return owns();
      if (word === 'retired') return isRetired();
      if (word === 'changed') return refusedMove(word);
      return { purchase, accountId, movedFrom, ...(word === 'replayed' ? { replayed: true as const } : {}) };
    },
  };
}

const isRetired = () => invalid('purchase', 'Was replaced by a later one: move that one');

/** What the purchase would answer now. */
function foreseenMove(document: PurchaseDocument, to: string, key: string) {
  const earlier = document.moves.find((move) => move.key === key);
  if (earlier !== undefined) return earlier.to === to ? undefined : refusedMove('key_reused');
  if (isUnbooked(document)) return refusedMove('busy');
  return document.moves.length >= MOST_MOVES ? refusedMove('full') : undefined;
}

const owns = () => invalid('account', 'Owns this purchase');

function refusedMove(word: 'key_reused' | 'busy' | 'changed' | 'full' | 'unknown') {
  switch (word) {
    case 'key_reused':
      return refuse(word, { message: 'This key moved the purchase to another account.' });
    case 'busy':
      return invalid('purchase', 'Is not in the ledger yet: a running service books it within a second, else check "purchases stuck"');
    case 'full':
      return invalid('purchase', `Was moved ${MOST_MOVES} times`);
    default:
      return invalid('purchase', 'Has another owner since: read it again');
  }
}
