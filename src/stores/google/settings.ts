import type { StoreOptions } from '../store.ts';

/**
 * The addresses, keys and identifiers of Google as the app store. Google and the sandbox differ in these settings only: the same code
 * verifies the tokens of both.
 */
export interface GoogleSettings {
  readonly name: 'google' | 'sandbox';
  /** OpenID Connect: the values of `iss` that an ID token may carry. */
  readonly issuers: readonly string[];
  /** JWK set of the public keys that verify ID tokens. */
  readonly jwksUrl: string;
  /** OAuth client ids: the values of `aud` that a sign-in's ID token may carry. Empty: no sign-in. */
  readonly clientIds: readonly string[];
  /** The apps whose purchases and install proofs the service accepts. Empty: it accepts none. */
  readonly packageNames: readonly string[];
  /** Google Play Developer API: `https://androidpublisher.googleapis.com`. */
  readonly publisherUrl: string;
  /** Play Integrity API: `https://playintegrity.googleapis.com`. */
  readonly integrityUrl: string;
  /** Account that gets the access tokens for the APIs. Undefined: the service cannot call them. */
  readonly serviceAccount: (() => Promise<ServiceAccount>) | undefined;
  /** Keys to decrypt integrity tokens locally. Undefined: the store decrypts them (`decodeIntegrityToken`). */
  readonly integrityKeys: (() => Promise<IntegrityKeys>) | undefined;
  /**
   * Real-time developer notifications: `aud` and `email` of the ID token that a Pub/Sub push has to carry. Undefined: the
   * service accepts no notifications.
   */
  readonly notifications: { readonly audience: string; readonly email: string } | undefined;
  /** How often to ask for voided purchases, whose notifications may have been lost. */
  readonly askForVoidedEveryMs: number;
}

/** The fields of a Google service account's JSON key file. */
export interface ServiceAccount {
  readonly clientEmail: string;
  /** PKCS #8, PEM. */
  readonly privateKey: string;
  readonly privateKeyId: string | undefined;
  readonly tokenUrl: string;
}

/** The "classic" response encryption keys that the Play Console shows. */
export interface IntegrityKeys {
  /** AES-256 key that decrypts the JWE. */
  readonly decryption: Uint8Array;
  /** P-256 public key (SPKI, DER) that verifies the JWS inside the JWE. */
  readonly verification: Uint8Array;
}

/** The options of every class in this folder. */
export interface GoogleOptions extends StoreOptions {
  /** A function, because the sandbox's address is known only once the service listens. */
  readonly settings: () => GoogleSettings;
}
