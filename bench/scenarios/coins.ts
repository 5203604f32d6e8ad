import type { RequestPlan } from '../load/order.ts';
import type { Scenario, Target } from '../scenario.ts';
import { BOARD, readTop, submitScore } from './boards.ts';
import { CALLERS } from './http.ts';
import { pipelinedIncrby } from './incrby.ts';
import { bareUwsRedis, coinop, fastify } from './sides.ts';

const readBalance: RequestPlan = { method: 'GET', path: '/v1/balance', headers: { cookie: '$cookie' } };

const creditByInstall: RequestPlan = {
  method: 'POST',
  path: '/v1/coins/credit',
  body: '{"installId":"$installId","coins":$coins,"key":"$key"}',
  isOperation: true,
};

export const creditBySession: RequestPlan = {
  method: 'POST',
  path: '/v1/coins/credit',
  headers: { cookie: '$cookie' },
  body: '{"coins":$coins,"key":"$key"}',
  isOperation: true,
};

const reading = { callers: 'sessions', requests: [readBalance] } as const;
const readingFilled = { ...reading, prepare: [creditBySession] } as const;

export const balance: Scenario = {
  name: 'balance',
  title: 'Balance',
  summary: 'GET of the balance by session.',
  operation: 'request',
  anywhere: true,
  sides: [coinop(readingFilled), bareUwsRedis(readingFilled), fastify(readingFilled)],
  targets: [],
};

const byInstall = { callers: 'installs', requests: [creditByInstall] } as const;

export const creditInstall: Scenario = {
  name: 'credit-install',
  title: 'Credit by installId',
  summary: `POST of a credit with a new key, to ${CALLERS} accounts that are named by installId.`,
  operation: 'request',
  anywhere: true,
  sides: [coinop(byInstall), bareUwsRedis(byInstall), fastify(byInstall)],
  targets: [],
};

const bySession = { callers: 'sessions', requests: [creditBySession] } as const;

const creditTargets: readonly Target[] = [
  { what: 'server CPU against bare uWS + ioredis + same script', figure: 'serverCpu', side: 'coinop', against: 'uws-redis', most: 1.3 },
  { what: 'server CPU against Fastify doing the same', figure: 'serverCpu', side: 'coinop', against: 'fastify', most: 0.45 },
  { what: 'Redis CPU against a pipelined INCRBY', figure: 'redisCpu', side: 'coinop', against: 'incrby', most: 6 },
];

export const creditSession: Scenario = {
  name: 'credit-session',
  title: 'Credit by session',
  summary: `POST of a credit with a new key, to ${CALLERS} accounts that are named by a session cookie.`,
  operation: 'request',
  anywhere: true,
  sides: [coinop(bySession), bareUwsRedis(bySession), fastify(bySession), pipelinedIncrby],
  targets: creditTargets,
};

const repeated: RequestPlan = { ...creditBySession, repeats: CALLERS };
const replaying = { callers: 'sessions', prepare: [repeated], requests: [repeated] } as const;
const replayed: RequestPlan = { ...repeated, path: '/replay' };
const replayingOnFloor = { callers: 'sessions', prepare: [replayed], requests: [replayed] } as const;

export const creditReplay: Scenario = {
  name: 'credit-replay',
  title: 'Replayed credit',
  summary: 'POST of a credit whose key was used before: the service replays the first result and changes nothing.',
  operation: 'request',
  anywhere: true,
  sides: [coinop(replaying), bareUwsRedis(replayingOnFloor), fastify(replaying)],
  targets: [],
};

export const day = {
  callers: 'sessions',
  prepare: [submitScore],
  requests: [
    { ...readTop, path: BOARD, share: 40 },
    { ...readBalance, share: 40 },
    { ...creditBySession, share: 12 },
    { ...submitScore, share: 8 },
  ],
} as const;

export const mixedDay: Scenario = {
  name: 'mixed-day',
  title: 'A mixed day',
  summary: '40 % top-10 reads, 40 % balances, 12 % credits, 8 % scores, by session.',
  operation: 'request',
  anywhere: true,
  sides: [coinop(day), bareUwsRedis(day), fastify(day)],
  targets: [
    { what: 'server CPU against bare uWS + ioredis + same script', figure: 'serverCpu', side: 'coinop', against: 'uws-redis', most: 1.3 },
  ],
};
