import type { Services } from '../declare.ts';
import type { DataGuard } from '../redis/data/data-guard.ts';
import type { RedisConnections } from '../redis/redis-connections.ts';
import type { WriteRefusals } from '../redis/write-refusals.ts';
import type { Server } from '../server/http/server.ts';
import type { BackgroundWork } from './background-work.ts';

/** The longest time that requests in flight may take during a drain, in milliseconds. The whole stop has 25 s. */
const DRAIN_MS = 15_000;

/** The default of `quietMs`, in milliseconds. Within this time a request arrives that a client sent before it noticed the drain. */
const DRAIN_QUIET_MS = 200;

interface Drained {
  readonly server: Server<Services>;
  readonly background: BackgroundWork;
  readonly services: Services;
  readonly connections: RedisConnections;
  readonly data: DataGuard;
  readonly refusals: WriteRefusals;
}

/**
 * Stops a serving process. It stops the sources of new work first, then the server once its requests are answered, then the services that
 * requests need, and Redis last.
 * @param quietMs the server closes once no request has been in flight for this long, in milliseconds
 */
export async function drain(
  { server, background, services, connections, data, refusals }: Drained,
  quietMs = DRAIN_QUIET_MS,
): Promise<void> {
  const queuesClosed = background.closeQueues();
  await server.drain(DRAIN_MS, quietMs);
  await Promise.all([queuesClosed, background.close()]);
  await Promise.all([services.presence.close(), services.listWriter.close()]);
  refusals.close();
  await data.close();
  services.keySecret.close();
  services.serverKeys.close();
  services.catalogue.close();
  services.names.close();
  services.events?.close();
  connections.disconnect();
}
