import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { Catalogue } from './features/catalogue/file.ts';
import { AllowedNames } from './features/names/allowed-names.ts';
import { whoMintsCoins } from './features/coins/model.ts';
import { consoleProviderProblems } from './operator/sign-in/console-providers.ts';
import { providerProblems } from './stores/openid/provider-table.ts';
import { checkStores } from './stores/stores.ts';

/** Problems of the settings of features: one line for each problem, which begins with the setting's name. */
export function settingProblems(config: Config): string[] {
  const { REQUIRE_INSTALL_PROOF } = config;
  const { problems, provesInstalls } = checkStores(config);
  // A problem of the app store's settings may be the reason why installs cannot be proven. In this case only that problem is reported.
  const isUnprovable = REQUIRE_INSTALL_PROOF.length > 0 && problems.length === 0 && !provesInstalls;
  return [
    ...problems,
    ...providerProblems(config),
    ...consoleProviderProblems(config),
    ...(isUnprovable
      ? [
          'REQUIRE_INSTALL_PROOF needs an app store that proves installs: set GOOGLE_PACKAGE_NAMES, and both PLAY_INTEGRITY keys or GOOGLE_SERVICE_ACCOUNT_FILE',
        ]
      : []),
    ...Catalogue.problemsOf(config),
    ...AllowedNames.problemsOf(config),
  ];
}

/**
 * Logs whether clients or only servers can credit coins. Warns of valid settings that are probably a mistake in production: the sample
 * catalogue, the sandbox store, an app store without settings.
 */
export function warnOfSettings(config: Config, log: Logger): void {
  const { production, STORE, CATALOGUE_FILE } = config;
  log.info(`who can mint coins: ${whoMintsCoins(config)}`);
  if (config.TWO_PERSON_COINS !== undefined && config.CONSOLE_SIGN_IN.length === 0)
    log.warn(
      'TWO_PERSON_COINS without CONSOLE_SIGN_IN: there is nobody who could be the second person, so only the tool makes such changes',
    );
  if (!production) return;
  if (CATALOGUE_FILE === undefined) log.warn('CATALOGUE_FILE is not set: the service serves the sample catalogue');
  if (STORE === 'sandbox') log.warn('STORE=sandbox in production: every client can sign in as any user and buy for free');
  const { missing } = checkStores(config);
  if (missing.length > 0) log.warn(`the store is not configured, and answers 503 store_unconfigured: ${missing.join(', ')}`);
}
