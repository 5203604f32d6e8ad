/**
 * Where a store is, and by which keys its word is verified: all in which Google and its stand-in differ. The code that
 * verifies is one and the same.
 */
export interface StoreSettings {
  readonly name: 'google' | 'sandbox';
  /** OpenID Connect: who may have issued an ID token (`iss`). */
  readonly issuers: readonly string[];
  /** The keys that sign ID tokens, as a JWK set. */
  readonly jwksUrl: string;
  /** OAuth client ids: the audiences whose ID tokens are taken. None: no sign-in. */
  readonly clientIds: readonly string[];
  /** The apps whose purchases and installs are taken. None: neither. */
  readonly packageNames: readonly string[];
  /** Google Play Developer API: `https://androidpublisher.googleapis.com`. */
  readonly publisherUrl: string;
  /** Play Integrity API: `https://playintegrity.googleapis.com`. */
  readonly integrityUrl: string;
  /** Whose access tokens the APIs are asked with. Undefined: they cannot be asked. */
  readonly serviceAccount: (() => Promise<ServiceAccount>) | undefined;
  /** To open integrity tokens here rather than by `decodeIntegrityToken`. */
  readonly integrityKeys: (() => Promise<IntegrityKeys>) | undefined;
  /** Real-time developer notifications: who may push them. Undefined: none are taken. */
  readonly notifications: { readonly audience: string; readonly email: string } | undefined;
}

/** As the JSON key file of a Google service account names them. */
export interface ServiceAccount {
  readonly clientEmail: string;
  /** PKCS #8, PEM. */
  readonly privateKey: string;
  readonly privateKeyId: string | undefined;
  readonly tokenUrl: string;
}

/** The "classic" response encryption keys that the Play Console shows. */
export interface IntegrityKeys {
  /** AES-256, for the JWE. */
  readonly decryption: Uint8Array;
  /** P-256 public key (SPKI, DER), for the JWS within. */
  readonly verification: Uint8Array;
}
