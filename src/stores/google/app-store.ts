import { GoogleApi } from './api.ts';
import { IdTokens } from './id-tokens.ts';
import { IntegrityTokens } from './integrity.ts';
import type { GoogleParts, StoreSettings } from './settings.ts';

/** The app store whose tokens and answers this service trusts: Google or the sandbox. */
export class AppStore {
  readonly idTokens: IdTokens;
  readonly api: GoogleApi;
  readonly integrity: IntegrityTokens;
  readonly #parts: GoogleParts;

  constructor(parts: GoogleParts) {
    this.#parts = parts;
    this.idTokens = new IdTokens(parts);
    this.api = new GoogleApi(parts);
    this.integrity = new IntegrityTokens(parts, this.api);
  }

  get settings(): StoreSettings {
    return this.#parts.settings();
  }
}
