import type { StoreOptions } from '../store.ts';

/**
 * The addresses, keys and identifiers of Google as an app store. Google and the sandbox differ only in these settings: the same code
 * verifies the tokens of both.
 */
export interface GoogleSettings {
  readonly name: 'google' | 'sandbox';
  /** The values of `iss` (OpenID Connect) with which the ID token of a Pub/Sub push is accepted. */
  readonly issuers: readonly string[];
  /** The URL of the JWK set with the public keys that verify these ID tokens. */
  readonly jwksUrl: string;
  /** The apps whose purchases and install proofs the service accepts. Empty: it accepts none. */
  readonly packageNames: readonly string[];
  /** The base URL of the Google Play Developer API: `https://androidpublisher.googleapis.com`. */
  readonly publisherUrl: string;
  /** The base URL of the Play Integrity API: `https://playintegrity.googleapis.com`. */
  readonly integrityUrl: string;
  /** The service account whose access tokens the service uses for Google's APIs. Undefined: the service cannot call the APIs. */
  readonly serviceAccount: (() => Promise<ServiceAccount>) | undefined;
  /** The keys with which the service decrypts integrity tokens itself. Undefined: Google decrypts them (`decodeIntegrityToken`). */
  readonly integrityKeys: (() => Promise<IntegrityKeys>) | undefined;
  /**
   * For real-time developer notifications: the `aud` and the `email` that the ID token of a Pub/Sub push must have. Undefined: the service
   * accepts no notifications.
   */
  readonly notifications: { readonly audience: string; readonly email: string } | undefined;
  /** Milliseconds between two readings of the list of voided purchases, because their notifications may have been lost. */
  readonly askForVoidedEveryMs: number;
}

/** The fields of a Google service account's JSON key file. */
export interface ServiceAccount {
  readonly clientEmail: string;
  /** The private key, in PKCS #8 and PEM. */
  readonly privateKey: string;
  readonly privateKeyId: string | undefined;
  readonly tokenUrl: string;
}

/** The keys for the answers to "classic" requests, as the Play Console shows them. */
export interface IntegrityKeys {
  /** The AES-256 key that decrypts the JWE. */
  readonly decryption: Uint8Array;
  /** The P-256 public key (SPKI, DER) that verifies the JWS inside the JWE. */
  readonly verification: Uint8Array;
}

/** The options of every class in this folder. */
export interface GoogleOptions extends StoreOptions {
  /** The settings. A function, because the sandbox's address is known only once the service listens. */
  readonly settings: () => GoogleSettings;
}
