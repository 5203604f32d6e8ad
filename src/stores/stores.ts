import type { Config } from '../config.ts';
import type { ScriptRunner } from '../redis/script-runner.ts';
import { GoogleStore } from './google/google-store.ts';
import { checkGoogle, googleSettings } from './google/settings-from-config.ts';
import { Sandbox } from '../apart/sandbox/sandbox.ts';
import type { AppStore, StoreCheck, StoreParts } from './store.ts';

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

export interface OpenStore {
  readonly store: AppStore | undefined;
  /** For the endpoints of the sandbox. */
  readonly sandbox: Sandbox | undefined;
}

/**
 * The app store that STORE names. `checkStore` has found no problem.
 * @param address this service's own, where the sandbox serves its stand-ins of Google's APIs
 */
export function openStore(config: Config, parts: StoreParts & { scripts: ScriptRunner; address: () => string }): OpenStore {
  switch (config.STORE) {
    case 'google': {
      const settings = googleSettings(config);
      return { store: new GoogleStore({ ...parts, settings: () => settings }), sandbox: undefined };
    }
    case 'sandbox': {
      const sandbox = new Sandbox(parts.scripts, parts.address, config.SANDBOX_CHAOS);
      // The sandbox's endpoints go by Redis's clock, as the rest of the service does.
      return { store: new GoogleStore({ ...parts, wallClock: parts.now, settings: () => sandbox.settings }), sandbox };
    }
    case 'off':
      return { store: undefined, sandbox: undefined };
  }
}
