import { apple } from './apple/apple.ts';
import { google } from './google/google.ts';
import type { StoreDeclaration } from './store.ts';

/** The app stores. The first store gets the purchases of subscriptions that do not name their store. */
export const table = [google, apple] as const satisfies readonly StoreDeclaration[];
