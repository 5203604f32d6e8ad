import type { Provider } from '../../stores/openid/provider.ts';
import type { MadeProviders } from '../../stores/openid/providers.ts';
import { SANDBOX_ISSUER as ISSUER } from '../../stores/openid/provider-table.ts';
import { SANDBOX_CLIENT_ID, SANDBOX_ISSUERS } from './settings.ts';

/** The form that names of the sandbox's providers have. */
export const PROVIDER_NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/;

/** The life of ID tokens from the stand-in for Google, in seconds, the same as at Google. */
const GOOGLE_SECONDS = 3600;

/** The life of ID tokens from the other stand-ins, in seconds, the same as at Apple. */
const DAY_SECONDS = 86_400;

/** The stand-ins for sign-in providers: for Google, for Apple, and for any other provider by its name. */
export class SandboxProviders implements MadeProviders {
  readonly #keysUrl: () => string;

  constructor(keysUrl: () => string) {
    this.#keysUrl = keysUrl;
  }

  named(name: string): Provider {
    const isGoogle = name === 'google';
    return {
      name,
      // Earlier versions had no other provider, and made the ids of accounts from `sandbox`.
      key: isGoogle ? 'sandbox' : `${ISSUER}${name}`,
      issuers: isGoogle ? SANDBOX_ISSUERS : [`${ISSUER}${name}`],
      clientIds: [SANDBOX_CLIENT_ID],
      algorithms: ['RS256'],
      keysUrl: this.#keysUrl,
      maxAgeSeconds: isGoogle ? GOOGLE_SECONDS : DAY_SECONDS,
      hashesNonce: name === 'apple',
      // The sandbox's endpoints make tokens with times of Redis's clock, so the times are checked by the same clock.
      isByRedisClock: true,
    };
  }

  issuing(issuer: string): Provider | undefined {
    const google = this.named('google');
    if (google.issuers.includes(issuer)) return google;
    const name = issuer.startsWith(ISSUER) ? issuer.slice(ISSUER.length) : '';
    return PROVIDER_NAME.test(name) && name !== google.name ? this.named(name) : undefined;
  }
}
