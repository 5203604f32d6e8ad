import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { Catalogue } from './features/catalogue/file.ts';
import { whoMintsCoins } from './features/coins/model.ts';
import { googleProblems, googleSettings } from './stores/google/settings-from-config.ts';
import { provesInstalls } from './stores/google/integrity.ts';

/** Problems of the features' settings: a line each, the setting's name first. */
export function settingProblems(config: Config): string[] {
  const { STORE, REQUIRE_INSTALL_PROOF, CATALOGUE_FILE } = config;
  const ofGoogle = STORE === 'google' ? googleProblems(config) : [];
  const isProvable = STORE === 'sandbox' || (STORE === 'google' && ofGoogle.length === 0 && provesInstalls(googleSettings(config)));
  // A problem of Google's settings may be the reason why install proofs are missing: then only that problem is reported.
  const isUnprovable = REQUIRE_INSTALL_PROOF.length > 0 && ofGoogle.length === 0 && !isProvable;
  return [
    ...ofGoogle,
    ...(isUnprovable
      ? [
          'REQUIRE_INSTALL_PROOF needs an app store that proves installs: set GOOGLE_PACKAGE_NAMES, and both PLAY_INTEGRITY keys or GOOGLE_SERVICE_ACCOUNT_FILE',
        ]
      : []),
    ...Catalogue.problemsOf(CATALOGUE_FILE),
  ];
}

/**
 * Says in the log who can mint coins, and warns of valid settings that are probably a mistake in production: the sample catalogue, the
 * sandbox, an unconfigured store.
 */
export function warnOfSettings(config: Config, log: Logger): void {
  const { production, STORE, CATALOGUE_FILE } = config;
  log.info(`who can mint coins: ${whoMintsCoins(config)}`);
  if (!production) return;
  if (CATALOGUE_FILE === undefined) log.warn('CATALOGUE_FILE is not set: the service serves the sample catalogue');
  if (STORE === 'sandbox') log.warn('STORE=sandbox in production: every client can sign in as any user and buy for free');
  const missing = unconfiguredOf(config);
  if (missing.length > 0) log.warn(`the store is not configured, and answers 503 store_unconfigured: ${missing.join(', ')}`);
}

/** What Google as the app store cannot do for lack of settings: `purchases (GOOGLE_PACKAGE_NAMES, …)`. */
export function unconfiguredOf(config: Config): string[] {
  if (config.STORE !== 'google') return [];
  const { clientIds, packageNames, serviceAccount, ...google } = googleSettings(config);
  return [
    ...(clientIds.length === 0 ? ['sign-in (GOOGLE_CLIENT_IDS)'] : []),
    ...(packageNames.length === 0 || serviceAccount === undefined ? ['purchases (GOOGLE_PACKAGE_NAMES, GOOGLE_SERVICE_ACCOUNT_FILE)'] : []),
    ...(provesInstalls({ packageNames, serviceAccount, ...google }) ? [] : ['install proofs (GOOGLE_PACKAGE_NAMES and keys)']),
  ];
}
