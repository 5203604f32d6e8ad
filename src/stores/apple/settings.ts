import { X509Certificate, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { SettingError, type Config } from '../../config.ts';
import { isFetchable } from '../openid/provider.ts';
import { togetherProblems } from '../setting-groups.ts';
import type { OpeningOptions, StoreCheck } from '../store.ts';
import { keyFileProblems, readPrivateKey } from './private-key.ts';
import type { Environment } from './transactions.ts';

/** The certificates and apps of Apple as an app store. Apple and the sandbox differ only in these settings. */
export interface AppleSettings {
  /** The apps whose purchases the service accepts. Empty: it accepts none. */
  readonly bundleIds: readonly string[];
  /** The ids of these apps in App Store Connect. Empty: notifications with any such id are accepted. */
  readonly appIds: readonly number[];
  /** The roots at which the chains of certificates in signed texts have to end. Empty: no text verifies. */
  readonly roots: () => readonly X509Certificate[] | Promise<readonly X509Certificate[]>;
  /** Whether the players have consented that the service tells Apple whether they received and used their purchases. */
  readonly tellsUse: boolean;
  /** The App Store Server API. Undefined: the service does not ask Apple, and relies on signed texts alone. */
  readonly api: AppleApiSettings | undefined;
}

/** How the service calls the App Store Server API. */
export interface AppleApiSettings {
  readonly issuerId: string;
  readonly keyId: string;
  /** The private key: P-256. */
  readonly privateKey: () => KeyObject | Promise<KeyObject>;
  /** The base URL of each environment, without a slash at the end. */
  readonly urls: Readonly<Record<Environment, string>>;
  /** Whether the API limits the number of calls. The sandbox does not, so that tests may make thousands of purchases. */
  readonly isLimited: boolean;
  /** Milliseconds between two readings of the list of refunds, because their notifications may have been lost. */
  readonly askForRefundsEveryMs: number;
}

/** The options of every class in this folder. */
export interface AppleOptions extends OpeningOptions {
  /** The settings. A function, because the sandbox's settings change until the service listens. */
  readonly settings: () => AppleSettings;
}

export function checkApple(config: Config): StoreCheck {
  const { APPLE_BUNDLE_IDS, APPLE_ROOTS_FILE } = config;
  const isWhole = APPLE_BUNDLE_IDS.length > 0 && APPLE_ROOTS_FILE !== undefined;
  const problems = appleProblems(config);
  if (problems.length > 0) return { problems, missing: [], provesInstalls: false };
  return { problems, missing: isWhole ? [] : ["Apple's purchases (APPLE_BUNDLE_IDS, APPLE_ROOTS_FILE)"], provesInstalls: false };
}

/** The settings of the keys with which the service calls the App Store Server API. */
const API_KEYS = ['APPLE_ISSUER_ID', 'APPLE_KEY_ID', 'APPLE_KEY_FILE'] as const;

const API_URLS = ['APPLE_API_URL', 'APPLE_SANDBOX_API_URL'] as const;

function appleProblems(config: Config): string[] {
  const urls = API_URLS.filter((name) => config[name] !== undefined && !isFetchable(config[name], !config.production));
  return [
    ...rootProblems(config),
    ...togetherProblems(config, API_KEYS),
    ...keyFileProblems('APPLE_KEY_FILE', config.APPLE_KEY_FILE),
    ...urls.map((name) => `${name} must be an https URL (outside production also http on this machine)`),
  ];
}

/** @throws SettingError when `checkApple` reports problems */
export function appleSettings(config: Config): AppleSettings {
  const problems = appleProblems(config);
  if (problems.length > 0) throw new SettingError(problems.join('\n'));
  const roots = config.APPLE_ROOTS_FILE === undefined ? [] : readRoots(config.APPLE_ROOTS_FILE);
  // Without a root no text verifies, so no app is accepted.
  const bundleIds = roots.length === 0 ? [] : config.APPLE_BUNDLE_IDS;
  return {
    bundleIds,
    appIds: config.APPLE_APP_IDS,
    roots: () => roots,
    tellsUse: config.APPLE_CONSUMPTION_CONSENT === 'on',
    api: apiSettings(config),
  };
}

/**
 * Milliseconds between two readings of the list of refunds. A refund has to be known within 15 minutes, even if one call fails.
 */
const ASK_FOR_REFUNDS_EVERY_MS = 7 * 60_000;

function apiSettings(config: Config): AppleApiSettings | undefined {
  const { APPLE_ISSUER_ID: issuerId, APPLE_KEY_ID: keyId, APPLE_KEY_FILE: file } = config;
  if (issuerId === undefined || keyId === undefined || file === undefined) return undefined;
  const privateKey = readPrivateKey(file);
  const { APPLE_API_URL = 'https://api.storekit.apple.com', APPLE_SANDBOX_API_URL = 'https://api.storekit-sandbox.apple.com' } = config;
  const urls = { Production: APPLE_API_URL.replace(/\/+$/, ''), Sandbox: APPLE_SANDBOX_API_URL.replace(/\/+$/, '') };
  return { issuerId, keyId, privateKey: () => privateKey, urls, isLimited: true, askForRefundsEveryMs: ASK_FOR_REFUNDS_EVERY_MS };
}

function rootProblems({ APPLE_ROOTS_FILE: file }: Config): string[] {
  try {
    if (file !== undefined) readRoots(file);
    return [];
  } catch (error) {
    return [`APPLE_ROOTS_FILE ${file} is not a file of root certificates: ${(error as Error).message}`];
  }
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Reads certificates in PEM, or a single certificate in DER, the form in which Apple publishes its roots. */
function readRoots(file: string): X509Certificate[] {
  const bytes = readFileSync(file);
  const texts = bytes.toString('latin1').match(PEM);
  const roots = texts === null ? [new X509Certificate(bytes)] : texts.map((text) => new X509Certificate(text));
  const other = roots.find((root) => !root.ca || !root.checkIssued(root));
  if (other !== undefined) throw new Error(`${other.subject.replaceAll('\n', ', ')} is not a root`);
  return roots;
}
