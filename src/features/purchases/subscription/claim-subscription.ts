import { z } from 'zod';
import { opensAccount } from '../../../accounts/prologues.ts';
import { invalid, refuse } from '../../../errors.ts';
import { defineScript } from '../../../redis/script.ts';
import { afterWrites } from '../../../redis/script-runner.ts';
import type { Caller } from '../../../server/identity/caller.ts';
import { Unchecked } from '../../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../../declare.ts';
import { OptionalInstallId } from '../../../accounts/ids.ts';
import { checkCaller, readFields } from '../../../accounts/account.ts';
import type { Subscriptions } from '../../../stores/store.ts';
import { accountOf, isOwnedBy } from '../core/owner.ts';
import { readSold } from '../core/ask-store.ts';
import { proofIn, proofShape } from '../core/proof.ts';
import { purchaseHash } from '../core/purchase-ids.ts';
import { retryWhileChanged } from '../core/retry-while-changed.ts';
import { storeUnconfigured } from '../../../stores/store-refusals.ts';
import { FIRST_STORE } from '../../../stores/stores.ts';
import { finishPurchase } from './finish-purchase.ts';
import { Subscription, subscriptionFactsOf, subscriptionFields, subscriptionKeys, type SubscriptionServices } from './model.ts';
import { subscriptionOf } from './subscription-state.ts';
import { checkPurchase } from './purchase-check.ts';
import { hasEnded, queued, readPurchase, todoPrelude, type PurchaseDocument } from './purchase-document.ts';
import {
  acknowledgeRecorded,
  firstCheckAt,
  namedArguments,
  namedIn,
  purchaseArguments,
  stateArguments,
  type Answered,
} from './purchase-record.ts';
import { lineageOf, storeOwnerOf, type Lineage } from './store-owner.ts';
import { withinTestBounds } from './test-access.ts';

export const recordScript = defineScript({
  file: new URL('record-purchase.lua', import.meta.url),
  keys: ['purchase'],
  args: ['ownerSeen', 'accountId', ...namedArguments, ...stateArguments, 'bound', 'act'],
  answers: ['recorded', 'changed'],
  slotOf: 'purchase',
  prologue: opensAccount,
  prelude: todoPrelude,
  durable: true,
});

export const claimSubscription = endpoint({
  method: 'POST',
  path: '/v1/subscription/purchase',
  operationId: 'purchaseSubscription',
  caller: 'required',
  summary: 'Records a subscription bought in the app store, once the app store confirms it.',
  description:
    'Fetches the purchase from the app store, records it, acknowledges it, and answers with the subscription. It is safe to repeat at ' +
    'any time. A purchase belongs to one account. If the app gave the store the `googleAccountId` of `GET /v1/account/store-ids`, it is ' +
    'that account, whoever sends the token first, and a notification of the store records the purchase without the app. Without such an ' +
    'id, it is the owner of the purchase that this one continues, else the first account that sends the token. Others get 409 ' +
    '`purchase_owned`. A purchase whose `linkedPurchaseToken` names another one replaces and ends that purchase. A ' +
    'token that the app store does not know is refused with 401 `bad_token`. A test purchase is 403 `test_purchase` in production, unless ' +
    '`TEST_PURCHASES` is `on`, or `capped`: it then gives access for a day at most. While the app store does not answer, the reply is 503 ' +
    '`app_store_unavailable` and nothing changes. Without a configured app store it is 503 `store_unconfigured`, and nothing is recorded.',
  body: z.object({
    installId: OptionalInstallId,
    ...proofShape,
    store: proofShape.store.optional().meta({ description: `\`${FIRST_STORE}\` if left out.` }),
    packageName: z.string().optional().meta({ description: 'The app of the purchase. If left out, the service tries each of its apps.' }),
  }),
  reply: Subscription,
  errors: ['bad_token', 'purchase_owned', 'test_purchase', 'store_unconfigured', 'app_store_unavailable'],
  // With `creates`, the calls of an address are limited, because each call uses Google's quota, which all callers share.
  creates: true,
  misses: ['bad_token'],
  // How long the request may take, in milliseconds. The request makes a call to the app store with retries (8 s), a call to acknowledge the
  // purchase (4 s), and calls to Redis.
  deadlineMs: 17_000,
  example: `curl -s $base/v1/subscription/purchase -H 'content-type: application/json' -d '{"installId":"install-0001","purchaseToken":"token-from-the-store"}'`,
  async handle({ caller, body, meta: { traceparent } }, services: PurchaseServices) {
    const { scripts, stores } = services;
    const { store, field, text, isOpen } = proofIn(body);
    const subscriptions = stores.salesOf(store, 'subscriptions');
    if (subscriptions === undefined) return new Unchecked(storeUnconfigured());
    const { packageName = '' } = body;
    if (packageName !== '' && !subscriptions.packageNames.includes(packageName)) throw invalid('packageName', 'Is no app of this service');

    const id = await subscriptions.idOf(text);
    const hash = purchaseHash(id, store);
    // The check of the caller and the read of the purchase start in one turn of the event loop, so that they can share a round trip. If the
    // session has ended or the account has moved, the call is refused, whatever the purchase is.
    const [, document] = await Promise.all([scripts.runAs(caller, checkCaller, {}, {}), readPurchase(hash, scripts)]);
    if (document !== undefined && document.todo.length > 0) await finishPurchase(hash, services);
    const owned = await claimOf(caller, document, scripts);
    if (owned === 'purchase_owned') return refuse('purchase_owned', { field });
    if (owned === 'retired') return currentSubscription(caller, services);

    const soldBy = owned === 'yours' ? document!.packageName : packageName === '' ? undefined : packageName;
    const purchase = withinTestBounds(await readSold(subscriptions, text, soldBy, traceparent), services.config);
    if (typeof purchase === 'string') {
      // The caller's purchase is recorded, but the app store gave no purchase. The recorded purchase keeps its state or expires, as in a
      // check by the queue.
      if (owned === 'yours') await queued(hash, services, (act) => checkPurchase(hash, act, services));
      if (purchase === 'test') return refuse('test_purchase', { field });
      if (owned !== 'yours') return refuse('bad_token', { message: 'The store knows no such purchase of this app.', field });
      return currentSubscription(caller, services);
    }
    const lineage = await lineageOf({ store, purchase }, subscriptions, scripts);
    const word = await recordPurchase(caller, { hash, store, purchase, lineage, isOpen, traceparent }, { ...services, subscriptions });
    if (word === 'bad_token') return refuse(word, { message: 'The store does not say that this account bought the purchase.', field });
    return word === 'purchase_owned' ? refuse(word, { field }) : afterWrites(currentSubscription(caller, services));
  },
});

type PurchaseServices = SubscriptionServices & Pick<Services, 'stores' | 'log'>;

type ClaimServices = PurchaseServices & { subscriptions: Subscriptions };

/**
 * Reads from the purchase's record whether the caller may claim it. An account keeps its purchases, but a deleted account has none. Nobody
 * may claim a purchase that was replaced, or that names a deleted account to the store.
 */
async function claimOf({ accountId }: Caller, document: PurchaseDocument | undefined, scripts: Services['scripts']) {
  if (document === undefined || document.owner === '') return 'free';
  const owner = await accountOf(document.owner, scripts);
  const isRetired = document.retiredBy !== '';
  if (owner === accountId) return isRetired ? 'retired' : 'yours';
  return owner === undefined && !isRetired && !document.isBound ? 'free' : 'purchase_owned';
}

/**
 * Reads from the app store's answer whether the caller may claim a purchase. If the purchase continues an older purchase, it belongs to the
 * account of the older purchase, unless the older purchase has ended and the new one replaces it.
 * @returns `isOthers`: whether another account keeps the purchase. `isBound`: whether an id that the app gave to the store names the caller
 */
async function claimByStore({ accountId }: Caller, { lineage, ...answered }: Bought, { scripts, now }: ClaimServices) {
  const owner = await storeOwnerOf(answered, lineage, scripts);
  if (owner.word === 'nobody') return { isOthers: false, isBound: false };
  if (owner.word === 'deleted') return { isOthers: true, isBound: false };
  const { accountId: named, isBound, replaced } = owner;
  if (await isOwnedBy(named, accountId, scripts)) return { isOthers: false, isBound };
  return { isOthers: isBound || replaced === undefined || !hasEnded(replaced, now()), isBound: false };
}

interface Bought extends Answered {
  readonly hash: string;
  readonly lineage: Lineage;
  /** Whether the proof is not a secret (`Proof`). */
  readonly isOpen: boolean;
  readonly traceparent: string | undefined;
}

/**
 * Makes the caller the owner of the purchase, unless another account keeps it. If the owner changes between the check and the script, the
 * script does nothing, and both run again.
 */
async function claim(caller: Caller, bought: Bought, act: string, services: ClaimServices) {
  const { hash, store, purchase, isOpen } = bought;
  const { scripts, now } = services;
  const stated = purchaseArguments(store, purchase, firstCheckAt(purchase, now()));
  return retryWhileChanged(async () => {
    const document = await readPurchase(hash, scripts);
    const word = await claimOf(caller, document, scripts);
    if (word === 'purchase_owned' || word === 'retired') return word;
    const { isOthers, isBound } = await claimByStore(caller, bought, services);
    // If the caller owns the purchase already, the caller keeps it, whatever the store's answer says. An operator may have moved the
    // purchase, or its record may be from a time when apps did not name accounts to the store.
    if (isOthers && word !== 'yours') return 'purchase_owned';
    if (isOpen && !isBound && word !== 'yours') return 'bad_token';
    const args = {
      ownerSeen: document?.owner ?? '',
      accountId: caller.accountId,
      ...namedIn(bought),
      ...stated,
      bound: Number(isBound),
      act,
    };
    const [done] = await scripts.runAs(caller, recordScript, { purchase: subscriptionKeys.purchase(hash) }, args);
    return done === 'changed' ? undefined : 'recorded';
  });
}

/**
 * Records the purchase, then acknowledges it. The purchase is put into the queue before it is recorded. So after a crash in between, the
 * next check acknowledges the purchase and finishes the other steps.
 */
async function recordPurchase(caller: Caller, bought: Bought, services: ClaimServices) {
  const { hash } = bought;
  let word = 'recorded' as Awaited<ReturnType<typeof claim>>;
  await queued(hash, services, async (act) => {
    word = await claim(caller, bought, act, services);
    if (word !== 'recorded') return (await finishPurchase(hash, services))?.dueAt;
    return acknowledgeRecorded({ ...bought, act }, services);
  });
  return word;
}

async function currentSubscription(caller: Caller, services: SubscriptionServices) {
  const fields = await readFields(caller, subscriptionFields, services);
  return subscriptionOf(subscriptionFactsOf(fields, services.config.SUBSCRIPTION_REPORTS), services.now());
}
