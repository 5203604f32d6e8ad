import type { GoogleSettings } from '../../stores/google/settings.ts';
import type { SandboxKeys } from './signing-keys.ts';

export const SANDBOX_CLIENT_ID = 'sandbox.apps.coinop';
export const SANDBOX_PACKAGE_NAME = 'dev.coinop.sandbox';

/**
 * The issuers of the sandbox's tokens, in two spellings like Google's. The issuers do not contain the service's address, because services
 * on one Redis have different addresses and must accept each other's tokens.
 */
export const SANDBOX_ISSUERS = ['https://accounts.sandbox.coinop', 'accounts.sandbox.coinop'] as const;

export const SANDBOX_SERVICE_ACCOUNT = 'service-account@sandbox.coinop';

/** The e-mail address of the service account that sends the sandbox's notifications. */
export const SANDBOX_NOTIFIER = 'notifications@sandbox.coinop';

/**
 * Milliseconds between two readings of the list of voided purchases. The time is short, so that a developer soon sees a refund arrive
 * without its notification.
 */
const ASK_FOR_VOIDED_EVERY_MS = 60_000;

/** The settings with which the service uses the sandbox as its store. @param baseUrl this service's own address, known once it listens */
export function sandboxSettings(keys: SandboxKeys, baseUrl: string): GoogleSettings {
  return {
    name: 'sandbox',
    issuers: SANDBOX_ISSUERS,
    jwksUrl: jwksUrlAt(baseUrl),
    packageNames: [SANDBOX_PACKAGE_NAME],
    publisherUrl: `${baseUrl}/sandbox/androidpublisher`,
    integrityUrl: `${baseUrl}/sandbox/playintegrity`,
    serviceAccount: async () => {
      const { serviceAccount } = await keys.get();
      return {
        clientEmail: SANDBOX_SERVICE_ACCOUNT,
        privateKey: serviceAccount.pem,
        privateKeyId: serviceAccount.kid,
        tokenUrl: tokenUrlAt(baseUrl),
      };
    },
    integrityKeys: async () => {
      const { integrity } = await keys.get();
      return { decryption: integrity.decryption, verification: integrity.verification };
    },
    notifications: { audience: `${baseUrl}/v1/store/google/notifications`, email: SANDBOX_NOTIFIER },
    askForVoidedEveryMs: ASK_FOR_VOIDED_EVERY_MS,
  };
}

export function jwksUrlAt(baseUrl: string): string {
  return `${baseUrl}/sandbox/jwks.json`;
}

export function tokenUrlAt(baseUrl: string): string {
  return `${baseUrl}/sandbox/token`;
}

/** The stand-in for the App Store Server API. The environment follows. */
export function appStoreUrlAt(baseUrl: string): string {
  return `${baseUrl}/sandbox/app-store`;
}

/** The stand-in for appleid.apple.com. */
export function appleIdUrlAt(baseUrl: string): string {
  return `${baseUrl}/sandbox/apple-id`;
}
