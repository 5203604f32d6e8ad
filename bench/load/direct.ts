import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { KeySecret } from '../../src/features/coins/key-secret.ts';
import { CallerScripts } from '../../src/accounts/caller-scripts.ts';
import type { Cluster } from '../../src/redis/cluster-client.ts';
import type { ScriptConnection, ShardMap } from '../../src/redis/script-runner.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { callerFrom } from '../../src/server/identity/caller.ts';
import type { Endpoint } from '../../src/server/http/endpoint.ts';
import type { ServerKey } from '../../src/server/identity/server-keys.ts';
import type { Session } from '../../src/server/identity/sessions.ts';
import { directServices, type DirectServices } from './direct-services.ts';

export type DirectCaller = (endpoint: Pick<Endpoint<DirectServices>, 'handle'>, call: DirectCall) => Promise<unknown>;

export interface DirectCall {
  readonly installId: string;
  /** The scripts check that this session was not signed out, as for a caller with a session cookie. */
  readonly sessionId?: string;
  /** Parsed values, as the endpoint's shapes give them. They are not validated here. */
  readonly params?: object;
  readonly query?: object;
  readonly body?: object;
  readonly meta?: object;
  /** The call comes from a server with this key. */
  readonly key?: ServerKey;
}

/**
 * Calls the service's handlers on a Redis or a Cluster without a server, which is fast enough for millions of calls. Redis then contains
 * exactly what the service would have written.
 * @param observe called with the name of each script that has run
 * @param connection runs the scripts instead of `redis`
 * @param emits scripts write events to an outbox, as with EVENTS=on
 */
export async function directCaller(
  redis: Redis | Cluster,
  {
    observe,
    connection = redis,
    emits = false,
  }: { observe?: (script: string) => void; connection?: ScriptConnection | ShardMap; emits?: boolean } = {},
): Promise<DirectCaller> {
  const now = Date.now;
  const keySecret = new KeySecret(redis, pino({ level: 'silent' }));
  // The secret can be read only once the connection is ready.
  await ('shards' in redis ? redis.opened() : redis.ping());
  await keySecret.read();
  keySecret.close();
  const scripts = new CallerScripts(connection, { now, observe, ...(emits ? { emitted() {} } : {}) });
  const services = directServices(scripts, keySecret);
  return async (endpoint, { installId, sessionId, params = {}, query = {}, body = {}, meta = {}, key }) => {
    const session =
      sessionId === undefined
        ? undefined
        : ({ id: sessionId, accountId: accountIdOf(installId), token: '', expiresAt: now() + 1000 } as Session);
    const caller = callerFrom({ address: '127.0.0.1' }, accountIdOf(installId), session, undefined);
    const whole = { params, query, body, caller, key, meta: { ...plainMeta, ...meta } };
    return endpoint.handle(whole as never, services);
  };
}

const plainMeta = {
  address: '127.0.0.1',
  userAgent: 'bench',
  cookie: '',
  hasBearer: false,
  deviceId: '',
  pairSecret: '',
  ifNoneMatch: '',
  origin: 'http://127.0.0.1',
  cookieScope: { sameSite: 'lax', secure: false, held: '' },
  onGone() {},
};
