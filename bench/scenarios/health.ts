import type { Scenario } from '../scenario.ts';
import { bareUws, coinop, fastify } from './sides.ts';

const work = { callers: 'anonymous', requests: [{ method: 'GET', path: '/health' }] } as const;

export const health: Scenario = {
  name: 'health',
  title: 'Health',
  summary: 'GET /health: the cost of a request that does no work.',
  operation: 'request',
  anywhere: true,
  sides: [coinop(work), bareUws(work), fastify(work)],
  targets: [{ what: 'server CPU against bare uWS', figure: 'serverCpu', side: 'coinop', against: 'uws', most: 1.3 }],
};
