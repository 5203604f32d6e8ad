import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { SettingError, type Config } from '../../config.ts';
import { togetherProblems } from '../setting-groups.ts';
import type { StoreCheck } from '../store.ts';
import { provesInstalls } from './integrity.ts';
import type { GoogleSettings, ServiceAccount } from './settings.ts';

/** The JSON key file of a service account, as Google Cloud issues it. */
const KeyFile = z.object({
  type: z.literal('service_account'),
  client_email: z.email(),
  private_key: z.string().refine(isRsaKey, 'must be an RSA key in PEM'),
  private_key_id: z.string().optional(),
});

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}

/**
 * The problems of Google's settings, one line for each, which begins with the setting's name. A problem is an unusable key file of a
 * service account, or one setting of a pair without the other.
 */
function googleProblems(config: Config): string[] {
  return [
    ...togetherProblems(config, ['GOOGLE_NOTIFICATIONS_AUDIENCE', 'GOOGLE_NOTIFICATIONS_EMAIL']),
    ...togetherProblems(config, ['PLAY_INTEGRITY_DECRYPTION_KEY', 'PLAY_INTEGRITY_VERIFICATION_KEY']),
    ...serviceAccountProblems(config),
  ];
}

export function checkGoogle(config: Config): StoreCheck {
  const problems = googleProblems(config);
  if (problems.length > 0) return { problems, missing: [], provesInstalls: false };
  const settings = googleSettings(config);
  const { packageNames, serviceAccount } = settings;
  const isProvable = provesInstalls(settings);
  const missing = [
    ...(config.GOOGLE_CLIENT_IDS.length === 0 ? ['sign-in (GOOGLE_CLIENT_IDS)'] : []),
    ...(packageNames.length === 0 || serviceAccount === undefined ? ['purchases (GOOGLE_PACKAGE_NAMES, GOOGLE_SERVICE_ACCOUNT_FILE)'] : []),
    ...(isProvable ? [] : ['install proofs (GOOGLE_PACKAGE_NAMES and keys)']),
  ];
  return { problems, missing, provesInstalls: isProvable };
}

/**
 * The settings of Google as the app store. Google's addresses are constants, because anybody who could change them could confirm forged
 * purchases.
 * @throws SettingError when `checkGoogle` reports problems
 */
export function googleSettings(config: Config): GoogleSettings {
  const problems = googleProblems(config);
  if (problems.length > 0) throw new SettingError(problems.join('\n'));
  const { GOOGLE_SERVICE_ACCOUNT_FILE, GOOGLE_NOTIFICATIONS_AUDIENCE, GOOGLE_NOTIFICATIONS_EMAIL } = config;
  const { PLAY_INTEGRITY_DECRYPTION_KEY, PLAY_INTEGRITY_VERIFICATION_KEY } = config;
  const serviceAccount = GOOGLE_SERVICE_ACCOUNT_FILE === undefined ? undefined : readServiceAccount(GOOGLE_SERVICE_ACCOUNT_FILE);
  const integrityKeys =
    PLAY_INTEGRITY_DECRYPTION_KEY === undefined || PLAY_INTEGRITY_VERIFICATION_KEY === undefined
      ? undefined
      : { decryption: PLAY_INTEGRITY_DECRYPTION_KEY, verification: PLAY_INTEGRITY_VERIFICATION_KEY };
  const notifications =
    GOOGLE_NOTIFICATIONS_AUDIENCE === undefined || GOOGLE_NOTIFICATIONS_EMAIL === undefined
      ? undefined
      : { audience: GOOGLE_NOTIFICATIONS_AUDIENCE, email: GOOGLE_NOTIFICATIONS_EMAIL };
  return {
    name: 'google',
    // The two values of `iss` that Google's tokens have
    // (https://developers.google.com/identity/openid-connect/openid-connect#validatinganidtoken).
    issuers: ['https://accounts.google.com', 'accounts.google.com'],
    jwksUrl: 'https://www.googleapis.com/oauth2/v3/certs',
    packageNames: config.GOOGLE_PACKAGE_NAMES,
    publisherUrl: 'https://androidpublisher.googleapis.com',
    integrityUrl: 'https://playintegrity.googleapis.com',
    serviceAccount: serviceAccount && (() => Promise.resolve(serviceAccount)),
    integrityKeys: integrityKeys && (() => Promise.resolve(integrityKeys)),
    notifications,
    askForVoidedEveryMs: ASK_FOR_VOIDED_EVERY_MS,
  };
}

/**
 * Milliseconds between two readings of the list of voided purchases. A refund has to be known within 15 minutes, even if two calls fail.
 * Google allows 6,000 such calls a day.
 */
const ASK_FOR_VOIDED_EVERY_MS = 5 * 60_000;

function serviceAccountProblems({ GOOGLE_SERVICE_ACCOUNT_FILE: file }: Config): string[] {
  try {
    if (file !== undefined) readServiceAccount(file);
    return [];
  } catch (error) {
    return [`GOOGLE_SERVICE_ACCOUNT_FILE ${file} is not the key file of a service account: ${reasonOf(error)}`];
  }
}

function readServiceAccount(file: string): ServiceAccount {
  const key = KeyFile.parse(JSON.parse(readFileSync(file, 'utf8')));
  return {
    clientEmail: key.client_email,
    privateKey: key.private_key,
    privateKeyId: key.private_key_id,
    // The file also has a token_uri. The service ignores it, because Google's addresses are constants.
    tokenUrl: 'https://oauth2.googleapis.com/token',
  };
}

/**
 * Describes an error in the key file. The text quotes nothing from the file, because the file contains a private key. The message of
 * a SyntaxError would quote a part of it.
 */
function reasonOf(error: unknown): string {
  if (error instanceof z.ZodError) return `${error.issues[0]!.path.join('.')}: ${error.issues[0]!.message}`;
  return error instanceof SyntaxError ? 'it is not JSON' : (error as Error).message;
}
