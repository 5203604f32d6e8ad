import type { Measured } from '../measure/measured.ts';
import type { Bench, PeerOptions } from '../scenario.ts';
import type { TransportName } from './colyseus-transports.ts';
import { fetchPackage, uwsTransportPackage } from './colyseus-uws-package.ts';

/**
 * Starts a Colyseus server on one of its transports, with a Redis.
 * @throws when the package of the transport is missing and cannot be fetched
 */
export async function startColyseus(
  bench: Bench,
  transport: TransportName,
  { settings, ...options }: PeerOptions = {},
  module = ROOMS,
): Promise<Measured> {
  // Fetched in this process, because the server's environment lacks the settings of npm and of proxies.
  if (transport === 'uws') await fetchPackage(uwsTransportPackage, bench.signal);
  return bench.peer(module, { ...options, redis: true, settings: { ...settings, TRANSPORT: transport } });
}

const ROOMS = new URL('rooms-colyseus.ts', import.meta.url);
