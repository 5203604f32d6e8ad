import { z } from 'zod';
import type { Refusal } from '../../errors.ts';
import { appStoreUnavailable } from '../store-outage.ts';
import type { GoogleApi } from './google-api.ts';
import type { GoogleOptions } from './settings.ts';

/** The id of a product, as Google's answers have it. */
export const ProductId = z.string().regex(/^[\x21-\x7e]{1,255}$/);

/**
 * The `Retry-After` of the refusal for an unknown state of a purchase, in milliseconds. Until a developer adds the state it stays unknown,
 * so an early retry gains nothing.
 */
export const UNKNOWN_STATE_MS = 60_000;

/** The most milliseconds for an acknowledgement or a consumption, enough for one try and a retry. The buyer waits for the outcome. */
const TELL_MS = 4000;

/** The URL under which the Google Play Developer API has the purchases of an app. */
export function purchasesUrl({ settings }: GoogleOptions, packageName: string): string {
  return `${settings().publisherUrl}/androidpublisher/v3/applications/${packageName}/purchases`;
}

/**
 * Finds a purchase by its token. A token does not show to which app it belongs, so the service asks Google about all apps at once. The
 * purchase belongs to at most one of them.
 * @param ask reads the purchase of one app: `gone` or `unknown` if the app has no such purchase
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
    // The answers about the other apps are not needed, and may take long.
    return await Promise.any(found);
  } catch {
    // If a call failed, this throws its error, because the purchase may belong to that app.
    return (await Promise.all(asked)).includes('gone') ? 'gone' : 'unknown';
  }
}

/**
 * Reads a purchase from Google.
 * @param parse makes the purchase, or for the log the name of the field or state that is not understood
 * @returns `gone`: Google has forgotten the purchase; `unknown`: the app has no such purchase
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
 * @returns whether Google accepted that. If not, the next check of the purchase tries again
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
