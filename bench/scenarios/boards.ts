import type { RequestPlan } from '../load/order.ts';
import type { Scenario } from '../scenario.ts';
import { bareUws, bareUwsRedis, coinop, fastify } from './sides.ts';

/** A board that only the bench uses, so that a load with --url leaves no scores on a real board. */
export const BOARD = '/v1/highscores/bench';

export const readTop: RequestPlan = { method: 'GET', path: BOARD };

export const submitScore: RequestPlan = {
  method: 'POST',
  path: BOARD,
  headers: { cookie: '$cookie' },
  body: '{"score":$score,"name":"Ada"}',
};

const reading = { callers: 'anonymous', requests: [readTop] } as const;
/** Fills the board before it is read. */
const filled = { ...reading, callers: 'sessions', prepare: [submitScore] } as const;

export const top: Scenario = {
  name: 'top-10',
  title: 'Top-10 read',
  summary: 'GET of a board that does not change.',
  operation: 'request',
  anywhere: true,
  sides: [coinop(filled), bareUws(reading), fastify(filled)],
  targets: [{ what: 'server CPU against bare uWS', figure: 'serverCpu', side: 'coinop', against: 'uws', most: 1.4 }],
};

const submitting = { callers: 'sessions', requests: [submitScore] } as const;

export const submit: Scenario = {
  name: 'score-submit',
  title: 'Score submit',
  summary: 'POST of a score by session, to one board of 256 players, answered with rank and top ten.',
  operation: 'request',
  anywhere: true,
  sides: [coinop(submitting), bareUwsRedis(submitting), fastify(submitting)],
  targets: [
    { what: 'server CPU against bare uWS + ioredis + same script', figure: 'serverCpu', side: 'coinop', against: 'uws-redis', most: 1.3 },
  ],
};
