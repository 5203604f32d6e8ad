import type { AppStore, InstallProofs, OneTimeProducts, SignIn, Subscriptions } from '../store.ts';
import { GoogleApi } from './google-api.ts';
import { IdTokens } from './id-tokens.ts';
import { IntegrityTokens } from './integrity.ts';
import { PlayProducts } from './one-time-products.ts';
import type { GoogleOptions } from './settings.ts';
import { PlaySubscriptions } from './subscriptions.ts';

/** Google as the app store. The sandbox is the same class with other settings: addresses and keys of its own. */
export class GoogleStore implements AppStore {
  readonly #options: GoogleOptions;
  readonly #idTokens: IdTokens;
  readonly #integrity: IntegrityTokens;
  readonly #subscriptions: PlaySubscriptions;
  readonly #products: PlayProducts;
  readonly #signIn: SignIn;

  constructor(options: GoogleOptions) {
    const api = new GoogleApi(options);
    this.#options = options;
    this.#idTokens = new IdTokens(options);
    this.#integrity = new IntegrityTokens(options, api);
    this.#subscriptions = new PlaySubscriptions(options, api);
    this.#products = new PlayProducts(options, api);
    this.#signIn = { verify: (token) => this.#idTokens.verifySignIn(token) };
  }

  get name(): string {
    return this.#options.settings().name;
  }

  get signIn(): SignIn | undefined {
    return this.#options.settings().clientIds.length === 0 ? undefined : this.#signIn;
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

  get takesNotifications(): boolean {
    return this.#options.settings().notifications !== undefined;
  }

  /** Verifies that Pub/Sub sent a push (`IdTokens.verifyPush`). */
  verifyPush(token: string): Promise<void> {
    return this.#idTokens.verifyPush(token);
  }
}
