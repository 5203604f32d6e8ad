import type { AppStore, Notifications, OneTimeProducts, Subscriptions } from '../store.ts';
import { NewestTransactions } from './newest-transactions.ts';
import { AppleNotifications } from './notifications.ts';
import { AppleProducts } from './consumables.ts';
import { AppleSubscriptions } from './subscriptions.ts';
import { ServerApi } from './server-api.ts';
import type { AppleOptions } from './settings.ts';
import { SignedTexts } from './signed-texts.ts';

/**
 * Apple as the app store. It relies on texts that Apple has signed, and on the answers of Apple's API. The sandbox uses the same class with
 * certificates of its own.
 */
export class AppleStore implements AppStore {
  readonly name = 'apple';
  readonly installs = undefined;
  readonly subscriptions: Subscriptions;
  readonly products: OneTimeProducts;
  readonly #options: AppleOptions;
  readonly #notifications: AppleNotifications;

  constructor(options: AppleOptions) {
    const texts = new SignedTexts({ roots: () => options.settings().roots(), wallClock: options.wallClock });
    const known = { texts, newest: new NewestTransactions(options.scripts), api: new ServerApi(options) };
    this.subscriptions = new AppleSubscriptions(options, known);
    this.products = new AppleProducts(options, known);
    this.#options = options;
    this.#notifications = new AppleNotifications(options, known);
  }

  get notifications(): Notifications | undefined {
    return this.#options.settings().bundleIds.length === 0 ? undefined : this.#notifications;
  }
}
