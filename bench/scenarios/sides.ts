import type { RequestPlan } from '../load/order.ts';
import type { Side } from '../scenario.ts';
import { httpSide, type HttpSide } from './http.ts';

/** The callers and requests of a side. */
type Asked = Pick<HttpSide, 'callers' | 'prepare'> & { readonly requests: readonly RequestPlan[] };

export function coinop(asked: Asked): Side {
  return httpSide({ id: 'coinop', name: 'coinop', kind: 'service', server: (bench) => bench.service(), ...asked });
}

export function bareUws(asked: Asked): Side {
  const module = new URL('../peers/uws.ts', import.meta.url);
  return httpSide({ id: 'uws', name: 'bare uWS', kind: 'floor', server: (bench) => bench.peer(module, { hasRoutes: true }), ...asked });
}

export function bareUwsRedis(asked: Asked): Side {
  const module = new URL('../peers/uws-redis.ts', import.meta.url);
  const server: HttpSide['server'] = (bench) => bench.peer(module, { redis: true, hasRoutes: true });
  return httpSide({ id: 'uws-redis', name: 'bare uWS + ioredis + same script', kind: 'floor', server, ...asked });
}

export function fastify(asked: Asked): Side {
  const module = new URL('../peers/fastify.ts', import.meta.url);
  const server: HttpSide['server'] = (bench) => bench.peer(module, { redis: true, hasRoutes: true });
  return httpSide({ id: 'fastify', name: 'Fastify', kind: 'peer', server, ...asked });
}
