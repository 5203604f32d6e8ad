import type { AppStore, InstallProofs, Notifications, OneTimeProducts, Subscriptions } from '../store.ts';
import { GoogleApi } from './google-api.ts';
import { IntegrityTokens } from './integrity.ts';
import { PlayNotifications } from './notifications.ts';
import { PlayProducts } from './one-time-products.ts';
import { PushTokens } from './push-tokens.ts';
import type { GoogleOptions } from './settings.ts';
import { PlaySubscriptions } from './subscriptions.ts';

/** Google as the app store. The sandbox uses the same class with addresses and keys of its own. */
export class GoogleStore implements AppStore {
  readonly name = 'google';
  readonly #options: GoogleOptions;
  readonly #integrity: IntegrityTokens;
  readonly #subscriptions: PlaySubscriptions;
  readonly #products: PlayProducts;
  readonly #notifications: PlayNotifications;

  constructor(options: GoogleOptions) {
    const api = new GoogleApi(options);
    this.#options = options;
    this.#integrity = new IntegrityTokens(options, api);
    this.#subscriptions = new PlaySubscriptions(options, api);
    this.#products = new PlayProducts(options, api);
    this.#notifications = new PlayNotifications(options, new PushTokens(options));
  }

  get installs(): InstallProofs | undefined {
    return this.#integrity.ready ? this.#integrity : undefined;
  }

  get subscriptions(): Subscriptions | undefined {
    return this.#options.settings().serviceAccount === undefined ? undefined : this.#subscriptions;
  }

  get products(): OneTimeProducts | undefined {
    return this.#options.settings().serviceAccount === undefined ? undefined : this.#products;
  }

  get notifications(): Notifications | undefined {
    return this.#options.settings().notifications === undefined ? undefined : this.#notifications;
  }
}
