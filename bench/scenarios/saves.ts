import type { RequestPlan } from '../load/order.ts';
import type { Scenario } from '../scenario.ts';
import { CALLERS } from './http.ts';
import { bareUwsRedis, coinop } from './sides.ts';

/** Some 4 KiB of a game's progress, as games keep it. */
const PROGRESS = JSON.stringify({
  level: 17,
  hats: ['red', 'green'],
  stages: Array.from({ length: 64 }, (_, stage) => ({ stage, stars: stage % 4, seconds: 31.5 + stage, done: stage % 3 > 0 })),
});

const save: RequestPlan = {
  method: 'POST',
  path: '/v1/saves/bench/slot-1',
  headers: { cookie: '$cookie' },
  body: `{"data":{"turn":"$key",${PROGRESS.slice(1)}}`,
};

const load: RequestPlan = { method: 'GET', path: '/v1/saves/bench/slot-1', headers: { cookie: '$cookie' } };

const work = { callers: 'sessions', prepare: [save], requests: [save, load] } as const;

export const saves: Scenario = {
  name: 'saves',
  title: 'Saves',
  summary: `A save of 4 KiB is written, and read, in turn, by session, for ${CALLERS} accounts. The floor sets and gets one text for each account.`,
  operation: 'request',
  anywhere: true,
  sides: [coinop(work), bareUwsRedis(work)],
  targets: [{ what: 'server CPU against a bare SET and GET', figure: 'serverCpu', side: 'coinop', against: 'uws-redis', most: 1.6 }],
};
