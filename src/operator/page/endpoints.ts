import type { Config } from '../../config.ts';
import { consoleOf } from '../../config.ts';
import type { Services } from '../../declare.ts';
import type { Endpoint } from '../../server/http/endpoint.ts';
import { endpointOf } from '../endpoints.ts';
import { consoleKeyOperations } from '../server-keys.ts';
import { beginSignIn, finishSignIn, showProviders } from '../sign-in/endpoints.ts';
import { requestOperations } from '../two-person/request-operations.ts';
import { ask } from './ask.ts';
import { figures, operatorNames } from './figures.ts';
import { Offers } from './offered.ts';
import { closedPage, page } from './page.ts';
import { sessionEndpoints } from './session.ts';

/**
 * The console in a browser: its page, its sessions, and the endpoints that only its page uses. For operations it uses the endpoints below
 * `/v1/admin`. The API documents leave these endpoints out, because they change with the page.
 */
export const consoleApi = (): readonly Endpoint<Services>[] => [
  page,
  showProviders,
  beginSignIn,
  finishSignIn,
  ...sessionEndpoints(new Offers()),
  ask,
  figures,
  operatorNames,
  ...[...consoleKeyOperations, ...requestOperations].map(endpointOf),
];

/** The endpoints of the console that these settings allow. */
export function consoleEndpoints(config: Config): readonly Endpoint<Services>[] {
  const console = consoleOf(config);
  if (console === 'off') return [];
  return console === 'open' ? consoleApi() : [closedPage];
}
