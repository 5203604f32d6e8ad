import type { RequestPlan } from '../load/order.ts';
import type { Side } from '../scenario.ts';
import { httpSide, type HttpSide } from './http.ts';

/** The callers and requests of a side. */
type HttpWork = Pick<HttpSide, 'callers' | 'prepare'> & { readonly requests: readonly RequestPlan[] };

export function coinop(work: HttpWork): Side {
  return httpSide({ id: 'coinop', name: 'coinop', kind: 'service', server: (bench) => bench.service(), ...work });
}

export function bareUws(work: HttpWork): Side {
  const module = new URL('../peers/uws.ts', import.meta.url);
  return httpSide({ id: 'uws', name: 'bare uWS', kind: 'floor', server: (bench) => bench.peer(module, { hasRoutes: true }), ...work });
}

export function bareUwsRedis(work: HttpWork): Side {
  const module = new URL('../peers/uws-redis.ts', import.meta.url);
  const server: HttpSide['server'] = (bench) => bench.peer(module, { redis: true, hasRoutes: true });
  return httpSide({ id: 'uws-redis', name: 'bare uWS + ioredis + same script', kind: 'floor', server, ...work });
}

export function fastify(work: HttpWork): Side {
  const module = new URL('../peers/fastify.ts', import.meta.url);
  const server: HttpSide['server'] = (bench) => bench.peer(module, { redis: true, hasRoutes: true });
  return httpSide({ id: 'fastify', name: 'Fastify', kind: 'peer', server, ...work });
}
