import { SignJWT } from 'jose';
import type { AppleApiSettings, AppleOptions } from './settings.ts';

/** The audience of every token: https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests */
export const API_AUDIENCE = 'appstoreconnect-v1';

/** The life of a token, in seconds. Apple accepts at most an hour. */
const LIFE_SECONDS = 1200;

/**
 * Milliseconds for which a token is used. It is valid for longer, so that it cannot expire on its way to Apple, even if the clocks differ
 * by some minutes.
 */
const USED_MS = 600_000;

/** The most apps whose tokens are kept. */
const MOST_APPS = 100;

/** The tokens with which the service calls the App Store Server API. Each app has its own. */
export class ApiTokens {
  readonly #options: Pick<AppleOptions, 'wallClock' | 'monotonic'>;
  readonly #held = new Map<string, { readonly token: Promise<string>; readonly until: number }>();

  constructor(options: Pick<AppleOptions, 'wallClock' | 'monotonic'>) {
    this.#options = options;
  }

  of(bundleId: string, settings: AppleApiSettings): Promise<string> {
    const now = this.#options.monotonic();
    const held = this.#held.get(bundleId);
    if (held !== undefined && now < held.until) return held.token;
    const token = this.#sign(bundleId, settings);
    if (this.#held.size >= MOST_APPS) this.#held.clear();
    this.#held.set(bundleId, { token, until: now + USED_MS });
    // If a token could not be made, the failure is not kept.
    token.catch(() => this.#held.delete(bundleId));
    return token;
  }

  async #sign(bundleId: string, { issuerId, keyId, privateKey }: AppleApiSettings): Promise<string> {
    const issuedAt = Math.floor(this.#options.wallClock() / 1000);
    return new SignJWT({ bid: bundleId })
      .setProtectedHeader({ alg: 'ES256', kid: keyId, typ: 'JWT' })
      .setIssuer(issuerId)
      .setAudience(API_AUDIENCE)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + LIFE_SECONDS)
      .sign(await privateKey());
  }
}
