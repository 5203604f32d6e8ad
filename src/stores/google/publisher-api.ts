import { z } from 'zod';
import type { Refusal } from '../../errors.ts';
import { appStoreUnavailable } from '../store-outage.ts';
import type { GoogleApi } from './google-api.ts';
import type { GoogleOptions } from './settings.ts';

/** A product's id in an answer of Google. */
export const ProductId = z.string().regex(/^[\x21-\x7e]{1,255}$/);

/** Retry-After of an unknown state: it stays unknown until a developer adds it, so an early retry gains nothing. */
export const UNKNOWN_STATE_MS = 60_000;

/** Time for one try and a retry of an acknowledgement or consumption. The buyer waits for it. */
const TELL_MS = 4000;

/** The purchases of an app in the Google Play Developer API. */
export function purchasesUrl({ settings }: GoogleOptions, packageName: string): string {
  return `${settings().publisherUrl}/androidpublisher/v3/applications/${packageName}/purchases`;
}

/**
 * A token does not show its app, so the service asks Google about all apps at once. The purchase belongs to one of them at most.
 * @param ask answers `gone` or `unknown` where the app has no such purchase
 */
export async function readInApps<Purchase extends object>(
  packageNames: readonly string[],
  ask: (packageName: string) => Promise<Purchase | 'gone' | 'unknown'>,
): Promise<Purchase | 'gone' | 'unknown'> {
  const asked = packageNames.map(ask);
  const found = asked.map(async (answer) => {
    const purchase = await answer;
    if (typeof purchase === 'string') throw new Error(purchase);
    return purchase;
  });
  try {
    // Answers about the other apps may take long, and are not needed.
    return await Promise.any(found);
  } catch {
    // A failed call throws here: the purchase may belong to that app.
    return (await Promise.all(asked)).includes('gone') ? 'gone' : 'unknown';
  }
}

/**
 * Asks about a purchase.
 * @param parse gives the purchase, or for the log the field or state that is not understood
 * @returns `gone`: Google has forgotten the purchase
 * @throws Refusal `app_store_unavailable`
 */
export async function readPurchase<Purchase extends object>(
  { url, traceparent }: { readonly url: string; readonly traceparent: string | undefined },
  parse: (body: unknown) => Purchase | string,
  { log }: GoogleOptions,
  api: GoogleApi,
): Promise<Purchase | 'gone' | 'unknown'> {
  const { status, body } = await api.call({ method: 'GET', url, traceparent });
  if (status === 410) return 'gone';
  if (status >= 400) return 'unknown';
  const purchase = parse(body);
  if (typeof purchase !== 'string') return purchase;
  log.error({ reason: purchase }, 'the answer of the app store about a purchase is not understood');
  throw appStoreUnavailable(UNKNOWN_STATE_MS);
}

/**
 * Tells Google that a buyer has what was bought: Google refunds a purchase that is not acknowledged within three days.
 * @returns whether Google accepted it. Otherwise the next check tries again
 */
export async function tell(
  word: 'acknowledgement' | 'consumption',
  { url, traceparent }: { readonly url: string; readonly traceparent: string | undefined },
  { log }: GoogleOptions,
  api: GoogleApi,
): Promise<boolean> {
  try {
    const { status } = await api.call({ method: 'POST', url, body: {}, traceparent, budgetMs: TELL_MS });
    if (status < 300) return true;
    log.warn({ status }, `the app store refused the ${word} of a purchase: the next check tries again`);
  } catch (error) {
    log.warn({ reason: (error as Refusal).message }, `the app store did not get the ${word} of a purchase: the next check tries again`);
  }
  return false;
}
