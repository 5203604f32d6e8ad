import { z } from 'zod';
import type { GoogleParts } from './settings.ts';

/** A product's id in an answer of Google. */
export const ProductId = z.string().regex(/^[\x21-\x7e]{1,255}$/);

/** Retry-After of an unknown state: it stays unknown until a developer adds it, so an early retry gains nothing. */
export const UNKNOWN_STATE_MS = 60_000;

/** Time for one try and a retry of an acknowledgement or consumption. The buyer waits for it. */
export const ACKNOWLEDGE_MS = 4000;

/** The purchases of an app in the Google Play Developer API. */
export function purchasesUrl({ settings }: GoogleParts, packageName: string): string {
  return `${settings().publisherUrl}/androidpublisher/v3/applications/${packageName}/purchases`;
}

/**
 * A token does not show its app, so all of them are asked at once. The purchase belongs to one of them at most.
 * @param ask answers `gone` or `unknown` where the app has no such purchase
 */
export async function lookInApps<Purchase extends object>(
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
    // Answers about the other apps may take long: nobody waits for them.
    return await Promise.any(found);
  } catch {
    // While the answer about one app is missing, the purchase may be of that app.
    return (await Promise.all(asked)).includes('gone') ? 'gone' : 'unknown';
  }
}
