import { newSubject, signToken } from '../sign-token.ts';
import type { SandboxKeys } from '../signing-keys.ts';

const LIFE_SECONDS = 3600;

/** Milliseconds for which pushes use the same token, because a signature takes a millisecond of CPU time. */
const SHARED_MS = 60_000;

/** OIDC tokens of Pub/Sub pushes: https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions */
export class PushTokens {
  readonly #keys: SandboxKeys;
  #signed: { readonly token: Promise<string>; readonly audience: string; readonly at: number } | undefined;

  constructor(keys: SandboxKeys) {
    this.#keys = keys;
  }

  /** The token for pushes to a receiver. @param now milliseconds since 1970 */
  of({ audience, email }: { readonly audience: string; readonly email: string }, now: number): Promise<string> {
    if (this.#signed?.audience === audience && Math.abs(now - this.#signed.at) < SHARED_MS) return this.#signed.token;
    const [issuedAt, subject] = [Math.floor(now / 1000), newSubject()];
    const claims = { azp: subject, email, email_verified: true };
    const token = signToken(this.#keys, { issuedAt, expiresAt: issuedAt + LIFE_SECONDS, subject, audience, claims });
    // Redis was unavailable. The failure is not kept, so the next push makes a new token.
    token.catch(() => (this.#signed = undefined));
    this.#signed = { token, audience, at: now };
    return token;
  }
}
