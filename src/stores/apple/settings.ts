import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { SettingError, type Config } from '../../config.ts';
import type { OpeningOptions, StoreCheck } from '../store.ts';

/** The certificates and apps of Apple as the app store. Apple and the sandbox differ in these settings only. */
export interface AppleSettings {
  /** The apps whose purchases the service accepts. Empty: it accepts none. */
  readonly bundleIds: readonly string[];
  /** The ids of these apps in App Store Connect. Empty: notifications of any id are accepted. */
  readonly appIds: readonly number[];
  /** The roots at which the certificates of signed texts have to end. Empty: no text verifies. */
  readonly roots: () => readonly X509Certificate[] | Promise<readonly X509Certificate[]>;
}

/** The options of every class in this folder. */
export interface AppleOptions extends OpeningOptions {
  /** The settings. A function, because the sandbox's change until the service listens. */
  readonly settings: () => AppleSettings;
}

export function checkApple(config: Config): StoreCheck {
  const { APPLE_BUNDLE_IDS, APPLE_ROOTS_FILE } = config;
  const isWhole = APPLE_BUNDLE_IDS.length > 0 && APPLE_ROOTS_FILE !== undefined;
  const problems = rootProblems(config);
  if (problems.length > 0) return { problems, missing: [], provesInstalls: false };
  return { problems, missing: isWhole ? [] : ["Apple's purchases (APPLE_BUNDLE_IDS, APPLE_ROOTS_FILE)"], provesInstalls: false };
}

/** @throws SettingError when `checkApple` reports problems */
export function appleSettings(config: Config): AppleSettings {
  const problems = rootProblems(config);
  if (problems.length > 0) throw new SettingError(problems.join('\n'));
  const roots = config.APPLE_ROOTS_FILE === undefined ? [] : readRoots(config.APPLE_ROOTS_FILE);
  // Without a root no text verifies, so no app is accepted.
  const bundleIds = roots.length === 0 ? [] : config.APPLE_BUNDLE_IDS;
  return { bundleIds, appIds: config.APPLE_APP_IDS, roots: () => roots };
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

/** Reads certificates in PEM, or one in DER as Apple publishes it. */
function readRoots(file: string): X509Certificate[] {
  const bytes = readFileSync(file);
  const texts = bytes.toString('latin1').match(PEM);
  const roots = texts === null ? [new X509Certificate(bytes)] : texts.map((text) => new X509Certificate(text));
  const other = roots.find((root) => !root.ca || !root.checkIssued(root));
  if (other !== undefined) throw new Error(`${other.subject.replaceAll('\n', ', ')} is not a root`);
  return roots;
}
