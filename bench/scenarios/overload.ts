import type { Figures } from '../figures.ts';
import type { Bench, Contestant, Scenario, Side } from '../scenario.ts';
import { OverloadRamp, type Level } from './overload-ramp.ts';

/**
 * More requests than the service can serve. They come on a fixed schedule and wait for no answer (open loop). The service and its
 * Redis share one core, which they fill at their capacity; the load has the other cores.
 */

/** Offered load, as a multiple of the capacity that was measured when the scenario opened. */
const LEVELS: readonly Level[] = [0.5, 1, 2, 4];

export const overload: Scenario = {
  name: 'overload',
  title: 'Overload',
  summary:
    'Credits by session on a fixed schedule at 0.5, 1, 2 and 4 times the capacity, over 4,096 connections. A request counts as goodput when it is answered 200 within a second of its due time, and as not sent when all connections wait for an answer. CPU is per answer, refusals included.',
  operation: 'answer',
  sides: LEVELS.map((level): Side => ({
    id: String(level),
    name: `${level} × capacity`,
    kind: 'service',
    at: level,
    open: (bench) => openLevel(bench, level),
  })),
  targets: [
    { what: 'goodput lost at 4 times the capacity', figure: 'goodputLost', side: '4', most: 10 },
    { what: 'goodput a CPU second lost at 4 times the capacity', figure: 'goodputPerCpuLost', side: '4', most: 10 },
    { what: 'CPU of a refusal against a served request', figure: 'refusalShare', side: '4', most: 15 },
    { what: 'time until all is normal after 4 times the capacity, s', figure: 'recovery', side: '4', most: 2 },
    { what: 'server memory at 4 times the capacity, MiB', figure: 'memory', side: '4', most: 400 },
  ],
  anywhere: false,
  rounds: 6,
  warmUpSeconds: 0,
  apart: { minutes: 4 },
};

/** The levels of a run share a ramp: the curve is one experiment, and the loads of one round follow each other directly. */
const ramps = new WeakMap<Bench, Promise<OverloadRamp>>();

async function openLevel(bench: Bench, level: Level): Promise<Contestant> {
  let opening = ramps.get(bench);
  if (opening === undefined) ramps.set(bench, (opening = OverloadRamp.open(bench, LEVELS)));
  const ramp = await opening;
  let round = 0;
  return {
    round: async (): Promise<Figures> => (await ramp.round(round++)).get(level)!,
    audit: async () => (level === LEVELS[0] ? ramp.audit() : []),
    close: () => ramp.close(),
  };
}
