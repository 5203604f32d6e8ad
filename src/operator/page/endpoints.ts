import type { Config } from '../../config.ts';
import { consoleOf } from '../../config.ts';
import type { Services } from '../../declare.ts';
import type { Endpoint } from '../../server/http/endpoint.ts';
import { endpointOf } from '../endpoints.ts';
import { keyOperations } from '../server-keys.ts';
import { ask } from './ask.ts';
import { figures, operatorNames, serverKeys } from './figures.ts';
import { closedPage, page } from './page.ts';
import { sessionEndpoints } from './session.ts';

/**
 * The console in a browser: its page, its sessions, and what its page alone asks. It reads and changes by the endpoints below `/v1/admin`. No
 * document lists these: they change with the page.
 */
export const consoleApi: readonly Endpoint<Services>[] = [
  page,
  ...sessionEndpoints,
  ask,
  figures,
  serverKeys,
  operatorNames,
  ...keyOperations.map(endpointOf),
];

/** Those that a service with these settings has. */
export function consoleEndpoints(config: Config): readonly Endpoint<Services>[] {
  const console = consoleOf(config);
  if (console === 'off') return [];
  return console === 'open' ? consoleApi : [closedPage];
}
