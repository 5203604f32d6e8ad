import { z } from 'zod';
import type { Refusal } from '../../errors.ts';
import { TELL_MS, UNKNOWN_STATE_MS } from '../store-calls.ts';
import { appStoreUnavailable } from '../store-refusals.ts';
import type { GoogleApi } from './google-api.ts';
import type { Answer, Sales, Sold } from '../store.ts';
import type { GoogleOptions } from './settings.ts';

/** The id of a product in Google's answers. */
export const ProductId = z.string().regex(/^[\x21-\x7e]{1,255}$/);

/** How purchases of one kind are read and acknowledged with Google's API. */
interface SoldKind<Purchase> {
  /** The resource of the method that reads a purchase, such as `subscriptionsv2`. */
  readonly resource: string;
  /** The resource of the method that acknowledges a purchase, and the method. */
  readonly acknowledged: readonly [resource: string, method: 'acknowledge' | 'consume'];
  /** The purchase. A text if the answer cannot be interpreted: it names the field or state at fault, for the log. */
  readonly parse: (body: unknown, asked: Asked) => Purchase | string;
}

/** The known facts about a purchase before Google is asked about it. */
export interface Asked {
  readonly id: string;
  readonly packageName: string;
  readonly checkedAt: number;
}

/** Purchases of one kind in Google Play. Google's purchase token is both the proof and the id of a purchase. */
export class PlaySales<Purchase extends object> implements Sales<Purchase> {
  protected readonly options: GoogleOptions;
  protected readonly api: GoogleApi;
  readonly #kind: SoldKind<Purchase>;

  constructor(options: GoogleOptions, api: GoogleApi, kind: SoldKind<Purchase>) {
    this.options = options;
    this.api = api;
    this.#kind = kind;
  }

  get packageNames(): readonly string[] {
    return this.options.settings().packageNames;
  }

  idOf(token: string): string {
    return token;
  }

  /**
   * A token does not show to which app it belongs, so the service asks Google about all apps at once. The purchase belongs to at most one of
   * them.
   */
  async read(token: string, packageName?: string, traceparent?: string): Promise<Answer<Purchase>> {
    const apps = packageName === undefined ? this.packageNames : [packageName];
    const asked = apps.map((app) => this.#readIn(app, token, traceparent));
    const found = asked.map(async (answer) => {
      const purchase = await answer;
      if (typeof purchase === 'string') throw new Error(purchase);
      return purchase;
    });
    try {
      // The answers about the other apps are not needed any more, and may take long.
      return await Promise.any(found);
    } catch {
      // If a call failed, this throws the error of that call, because the purchase may belong to its app.
      return (await Promise.all(asked)).includes('gone') ? 'gone' : 'unknown';
    }
  }

  /** Google answers 410 for a purchase that ended long ago. */
  async #readIn(packageName: string, token: string, traceparent: string | undefined): Promise<Answer<Purchase>> {
    const { now, log } = this.options;
    const asked = { packageName, id: token, checkedAt: now() };
    const url = this.urlOf(packageName, `${this.#kind.resource}/tokens/${encodeURIComponent(token)}`);
    const { status, body } = await this.api.call({ method: 'GET', url, traceparent });
    if (status === 410) return 'gone';
    if (status >= 400) return 'unknown';
    const purchase = this.#kind.parse(body, asked);
    if (typeof purchase !== 'string') return purchase;
    log.error({ reason: purchase }, 'the answer of the app store about a purchase is not understood');
    throw appStoreUnavailable(UNKNOWN_STATE_MS);
  }

  /** Google refunds a purchase that is not acknowledged within three days. If this call fails, the next check of the purchase tries again. */
  async acknowledge({ packageName, sku, id }: Sold, traceparent?: string): Promise<boolean> {
    const { log } = this.options;
    const [resource, method] = this.#kind.acknowledged;
    const word = method === 'consume' ? 'consumption' : 'acknowledgement';
    const url = this.urlOf(packageName, `${resource}/${encodeURIComponent(sku)}/tokens/${encodeURIComponent(id)}:${method}`);
    try {
      const { status } = await this.api.call({ method: 'POST', url, body: {}, traceparent, budgetMs: TELL_MS });
      if (status < 300) return true;
      log.warn({ status }, `the app store refused the ${word} of a purchase: the next check tries again`);
    } catch (error) {
      log.warn({ reason: (error as Refusal).message }, `the app store did not get the ${word} of a purchase: the next check tries again`);
    }
    return false;
  }

  /** The URL of a resource of an app's purchases in the Google Play Developer API. */
  protected urlOf(packageName: string, resource: string): string {
    return `${this.options.settings().publisherUrl}/androidpublisher/v3/applications/${packageName}/purchases/${resource}`;
  }
}
