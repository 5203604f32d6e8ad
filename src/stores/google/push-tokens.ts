import { refuse } from '../../errors.ts';
import { IssuerKeys } from '../openid/issuer-keys.ts';
import { verifyIdToken } from '../openid/verify-id-token.ts';
import type { GoogleOptions } from './settings.ts';

/** The most seconds after its `iat` for which an ID token is accepted, even if its `exp` is later. Google's ID tokens live an hour. */
const MAX_AGE_SECONDS = 3600;

/** Verifies the ID tokens with which Google's services sign in to this service. `openid/` verifies those of players. */
export class PushTokens {
  readonly #options: GoogleOptions;
  readonly #keys: IssuerKeys;

  constructor(options: GoogleOptions) {
    this.#options = options;
    this.#keys = new IssuerKeys({ keysUrl: () => options.settings().jwksUrl }, options);
  }

  /**
   * Verifies that Pub/Sub sent a push, signed in as the service account that the settings name
   * (https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions).
   * @param token from the Authorization header, without `Bearer`
   * @throws Refusal `forbidden` for a valid token of another account, `bad_token`, `app_store_unavailable`, `store_unconfigured`
   */
  async verifyPush(token: string): Promise<void> {
    const { settings, wallClock, log } = this.#options;
    const { issuers, notifications } = settings();
    if (notifications === undefined) throw refuse('store_unconfigured');
    const rules = {
      issuers,
      audiences: [notifications.audience],
      algorithms: ['RS256'],
      maxAgeSeconds: MAX_AGE_SECONDS,
      keys: this.#keys,
      now: wallClock(),
    };
    const { email, email_verified: isVerified } = await verifyIdToken(token, rules, 'authorization', log);
    if (email !== notifications.email || isVerified !== true) throw refuse('forbidden');
  }
}
