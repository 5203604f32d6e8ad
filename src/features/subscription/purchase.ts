import { z } from 'zod';
import { checksCaller, opensAccount } from '../../accounts/prologues.ts';
import { invalid, refuse, Refusal } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { Unchecked } from '../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../declare.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { readFields } from '../../accounts/account.ts';
import { storeUnconfigured } from '../store/model.ts';
import { nextCheckAt, UNACKNOWLEDGED_MS } from './check-schedule.ts';
import { acknowledge, fetchPurchase, needsAcknowledgement, type StorePurchase } from './google-play.ts';
import { Subscription, subscriptionFactsOf, subscriptionFields, subscriptionKeys, subscriptionOf } from './model.ts';
import { checkPurchase } from './purchase-check.ts';
import { purchaseArguments, purchaseKeysOf, purchasesPrelude, stateArguments, updatePurchase } from './purchase-record.ts';
import { purchaseHash, PurchaseToken } from './purchase-token.ts';

export const ownerScript = defineScript({
  file: new URL('purchase-owner.lua', import.meta.url),
  keys: ['purchase', 'due', 'account'],
  args: ['accountId', 'now'],
  answers: ['free', 'yours', 'others', 'retired', 'purchase_owned'],
  prologue: checksCaller,
  prelude: purchasesPrelude,
  readOnly: true,
});

export const recordScript = defineScript({
  file: new URL('record-purchase.lua', import.meta.url),
  keys: ['purchase', 'linked', 'due'],
  args: ['hash', 'accountId', 'token', 'packageName', ...stateArguments, 'dueAt', 'linkedHash', 'retires'],
  answers: ['recorded', 'retired', 'purchase_owned'],
  prologue: opensAccount,
  prelude: purchasesPrelude,
});

const OWNED = { field: 'purchaseToken' };
const UNKNOWN = { message: 'The store knows no such purchase of this app.', field: 'purchaseToken' };

export const purchaseSubscription = endpoint({
  method: 'POST',
  path: '/v1/subscription/purchase',
  operationId: 'purchaseSubscription',
  caller: 'required',
  summary: 'Records a subscription bought in the app store, once the app store confirms it.',
  description:
    'Fetches the purchase from the app store, records it, acknowledges it, and answers with the subscription. It is safe to repeat at ' +
    'any time. A purchase belongs to one account: a purchase of a guest moves to the account that sends its token, a purchase of a store ' +
    'account does not (409 `purchase_owned`). A purchase whose `linkedPurchaseToken` names another one replaces and ends that purchase. A ' +
    'token that the app store does not know is refused with 401 `bad_token`. While the app store does not answer, the reply is 503 ' +
    '`store_unavailable` and nothing changes. Without a configured app store it is 503 `store_unconfigured`, and nothing is recorded.',
  body: z.object({
    installId: OptionalInstallId,
    purchaseToken: PurchaseToken,
    packageName: z.string().optional().meta({ description: 'The app of the purchase. Left out: the service tries each of its apps.' }),
  }),
  reply: Subscription,
  errors: ['bad_token', 'purchase_owned', 'store_unconfigured'],
  // Each call uses Google's quota, which all callers share.
  creates: true,
  misses: ['bad_token'],
  // A call to the app store with its retries (8 s), another to acknowledge (4 s), and Redis.
  deadlineMs: 17_000,
  example: `curl -s $base/v1/subscription/purchase -H 'content-type: application/json' -d '{"installId":"install-0001","purchaseToken":"token-from-the-store"}'`,
  async handle({ caller, body }, services) {
    const { store, scripts, now } = services;
    if (store?.settings.serviceAccount === undefined || store.settings.packageNames.length === 0) return new Unchecked(storeUnconfigured());
    const { packageNames } = store.settings;
    const { purchaseToken: token, packageName = '' } = body;
    if (packageName !== '' && !packageNames.includes(packageName)) throw invalid('packageName', 'Is no app of this service');

    const hash = purchaseHash(token);
    const keys = { purchase: subscriptionKeys.purchase(hash), due: subscriptionKeys.due, account: caller.accountKey };
    const [owned, packageKnown = ''] = await scripts.runAs(caller, ownerScript, keys, { accountId: caller.accountId, now: now() });
    if (owned === 'purchase_owned') return refuse('purchase_owned', OWNED);
    if (owned === 'retired') return currentSubscription(caller, services);

    const parts = { ...services, store };
    const apps = owned === 'yours' ? [packageKnown] : packageName === '' ? packageNames : [packageName];
    const found = await findInApps(token, apps, parts);
    if (found === undefined) {
      if (owned !== 'yours') return refuse('bad_token', UNKNOWN);
      // A recorded purchase that the app store no longer knows keeps its state or expires, as in a check from the queue.
      await checkPurchase(hash, parts);
      return currentSubscription(caller, services);
    }
    return recordPurchase(caller, { token, hash, ...found }, parts);
  },
});

interface Found {
  readonly packageName: string;
  readonly purchase: StorePurchase;
}

type Parts = Services & { store: NonNullable<Services['store']> };

/**
 * Fetches the purchase from all these apps in parallel: it belongs to one of them at most.
 * @throws Refusal `store_unavailable` if a call failed and no other app has the purchase
 */
async function findInApps(token: string, packageNames: readonly string[], parts: Parts): Promise<Found | undefined> {
  const asked = packageNames.map(async (packageName) => {
    const purchase = await fetchPurchase(packageName, token, parts);
    if (typeof purchase === 'string') throw refuse('bad_token', UNKNOWN);
    return { packageName, purchase };
  });
  try {
    return await Promise.any(asked);
  } catch (error) {
    const { errors } = error as AggregateError;
    const isUnknown = (reason: unknown): boolean => reason instanceof Refusal && reason.code === 'bad_token';
    if (errors.every(isUnknown)) return undefined;
    throw errors.find((reason) => !isUnknown(reason));
  }
}

/** Records the purchase and schedules its next check before it is acknowledged: after a crash in between that check acknowledges it. */
async function recordPurchase(caller: Caller, bought: Found & { token: string; hash: string }, parts: Parts) {
  const { scripts, now, log, config } = parts;
  const { token, hash, packageName, purchase } = bought;
  const isUnacknowledged = needsAcknowledgement(purchase, now());
  const dueAt = isUnacknowledged ? now() + UNACKNOWLEDGED_MS : (nextCheckAt(purchase, now()) ?? '');
  const [word, purchases = '', reportedSubscribed = '', reportedAt = '', leftAnother] = await scripts.runAs(
    caller,
    recordScript,
    purchaseKeysOf(hash, purchase),
    { hash, accountId: caller.accountId, token, packageName, ...purchaseArguments(purchase), dueAt },
  );
  if (word === 'purchase_owned') return refuse('purchase_owned', OWNED);
  if (word === 'retired') return currentSubscription(caller, parts);
  if (leftAnother === '1') log.info({ purchase: hash.slice(0, 6) }, 'a purchase moved from one guest account to another account');
  if (isUnacknowledged && (await acknowledge({ packageName, productId: purchase.productId, token }, parts))) {
    // If this fails, the next check learns from the app store that the purchase is acknowledged.
    await updatePurchase(hash, { ...purchase, acknowledged: true }, 0, parts).catch((error: unknown) =>
      log.debug({ reason: (error as Error).message }, 'the acknowledgement of a purchase could not be recorded: the next check records it'),
    );
  }
  return subscriptionOf(subscriptionFactsOf({ purchases, reportedSubscribed, reportedAt }, config.SUBSCRIPTION_REPORTS), now());
}

async function currentSubscription(caller: Caller, services: Services) {
  const fields = await readFields(caller, subscriptionFields, services);
  return subscriptionOf(subscriptionFactsOf(fields, services.config.SUBSCRIPTION_REPORTS), services.now());
}
