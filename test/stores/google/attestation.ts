import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { CompactEncrypt, type CompactJWEHeaderParameters } from 'jose';
import type { IntegrityKeys } from '../../../src/stores/google/settings.ts';
import { signed } from './issuer.ts';

export const PACKAGE_NAME = 'com.example.game';

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** The key pair with which the store signs. `integrityKeys` has the public key. */
export const verdictKey = privateKey;
export const verificationKey = publicKey;

export const integrityKeys: IntegrityKeys = {
  decryption: randomBytes(32),
  verification: publicKey.export({ type: 'spki', format: 'der' }),
};

/** The keys and packages as settings of a service. */
export const integritySettings = {
  STORE: 'google',
  GOOGLE_PACKAGE_NAMES: `com.example.other,${PACKAGE_NAME}`,
  PLAY_INTEGRITY_DECRYPTION_KEY: Buffer.from(integrityKeys.decryption).toString('base64'),
  PLAY_INTEGRITY_VERIFICATION_KEY: Buffer.from(integrityKeys.verification).toString('base64'),
};

/** The verdict of a genuine install, in the format of https://developer.android.com/google/play/integrity/verdicts */
export function verdict(nonce: string, now: number) {
  return {
    requestDetails: { requestPackageName: PACKAGE_NAME, nonce, timestampMillis: String(now) },
    appIntegrity: {
      appRecognitionVerdict: 'PLAY_RECOGNIZED',
      packageName: PACKAGE_NAME,
      certificateSha256Digest: ['6a6a1474b5cbbb2b1aa57e0bc3'],
      versionCode: '42',
    },
    deviceIntegrity: { deviceRecognitionVerdict: ['MEETS_DEVICE_INTEGRITY'] },
    accountDetails: { appLicensingVerdict: 'LICENSED' },
    environmentDetails: { playProtectVerdict: 'NO_ISSUES' },
  };
}

export type Verdict = ReturnType<typeof verdict>;

/** Encrypts a token as the store does. `header` and `key` replace its header fields and key. */
export function sealed(
  text: string | Uint8Array,
  header: object = {},
  key: Parameters<CompactEncrypt['encrypt']>[0] = integrityKeys.decryption,
) {
  return new CompactEncrypt(typeof text === 'string' ? Buffer.from(text) : text)
    .setProtectedHeader({ alg: 'A256KW', enc: 'A256GCM', ...header } as CompactJWEHeaderParameters)
    .encrypt(key);
}

/** An integrity token, signed and encrypted as the store does. */
export function attested(payload: object | string | Buffer): Promise<string> {
  return sealed(signed({ alg: 'ES256' }, payload, verdictKey));
}
