import { isLoopback } from '../../config.ts';

/** An issuer of ID tokens with which players sign in (OpenID Connect Core 1.0): a row of the table of providers. */
export interface Provider {
  /** The label that people and clients see. An operator may change it. */
  readonly name: string;
  /**
   * The part of the ids of accounts that stands for the issuer (`signInIdOf`). It must never change. It is the issuer itself, except in
   * rows that are older than this table.
   */
  readonly key: string;
  /** The values of `iss` with which an ID token is accepted. */
  readonly issuers: readonly string[];
  /** The values of `aud` with which an ID token is accepted. */
  readonly clientIds: readonly string[];
  /** The algorithms with which the issuer signs. The token cannot choose another one. */
  readonly algorithms: readonly ('RS256' | 'ES256')[];
  /** The URL of the issuer's JWK set. A function if the URL is known only later. Undefined: the issuer's discovery document names it. */
  readonly keysUrl: string | (() => string) | undefined;
  /** The most seconds after its `iat` for which an ID token is accepted, even if its `exp` is later. */
  readonly maxAgeSeconds: number;
  /** Whether the token's `nonce` may be the SHA-256 of the app's nonce, in hex, as Apple's libraries send it. */
  readonly hashesNonce: boolean;
  /** Whether the times in tokens come from Redis's clock, as the sandbox's do. Other providers use the clock of their own machine. */
  readonly isByRedisClock: boolean;
}

/** A user of a provider, as a verified ID token describes the user. */
export interface Identity {
  readonly provider: Provider;
  /** The provider's own id of the user, which it never gives to another user. It has no blank. */
  readonly subject: string;
  /** The `aud` of the token: the app or website in which the user signed in. */
  readonly clientId: string;
  /** When the provider issued the token, in milliseconds since 1970. */
  readonly issuedAt: number;
  /** The `nonce` of the token. Undefined: the token has none. */
  readonly nonce: string | undefined;
}

/** Whether the service may fetch from a URL. The URL must be https; outside production it may be http on this machine. */
export function isFetchable(text: string, allowsLoopbackHttp: boolean): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (allowsLoopbackHttp && url.protocol === 'http:' && isLoopback(url.hostname));
}
