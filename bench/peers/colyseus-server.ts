import type { Measured } from '../measure/measured.ts';
import type { Bench, PeerOptions } from '../scenario.ts';
import type { TransportName } from './colyseus-transports.ts';
import { bringPackage, uwsTransportPackage } from './colyseus-uws-package.ts';

/**
 * Colyseus's server on one of its transports, with a Redis.
 * @throws where the package of the transport is missing and cannot be fetched
 */
export async function startColyseus(bench: Bench, transport: TransportName, { settings, ...options }: PeerOptions = {}): Promise<Measured> {
  // Here and not in the server's process, which knows nothing of proxies and of npm's settings in the environment.
  if (transport === 'uws') await bringPackage(uwsTransportPackage, bench.signal);
  const module = new URL('rooms-colyseus.ts', import.meta.url);
  return bench.peer(module, { ...options, redis: true, settings: { ...settings, TRANSPORT: transport } });
}
