import type { Config } from '../config.ts';
import { GoogleStore } from './google/google-store.ts';
import { checkGoogle, googleSettings } from './google/settings-from-config.ts';
import type { GoogleSettings } from './google/settings.ts';
import type { AppStore, StoreCheck, StoreOptions } from './store.ts';

export function checkStore(config: Config): StoreCheck {
  switch (config.STORE) {
    case 'google':
      return checkGoogle(config);
    case 'sandbox':
      return { problems: [], missing: [], provesInstalls: true };
    case 'off':
      return { problems: [], missing: [], provesInstalls: false };
  }
}

/**
 * The app store that the setting STORE names. Only to be called if `checkStore` found no problem.
 * @param sandbox the settings that stand in for Google's with STORE=sandbox
 */
export function openStore(config: Config, options: StoreOptions, sandbox: StandIn | undefined): AppStore | undefined {
  switch (config.STORE) {
    case 'google': {
      const settings = googleSettings(config);
      return new GoogleStore({ ...options, settings: () => settings });
    }
    case 'sandbox':
      // The sandbox's endpoints make tokens by Redis's clock, so the store checks their times by the same clock.
      return new GoogleStore({ ...options, wallClock: options.now, settings: () => sandbox!.settings });
    case 'off':
      return undefined;
  }
}

interface StandIn {
  readonly settings: GoogleSettings;
}
