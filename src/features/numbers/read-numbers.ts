import { setTimeout as pause } from 'node:timers/promises';
import { COUNTERS_TAG } from '../../redis/counters.ts';
import { readHash } from '../../redis/reads.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { SLOTS, tagOf } from '../../redis/slots.ts';
import { numberKeys, type Counters } from './model.ts';

/** Reads at the same time: they share a few commands of some milliseconds. */
const READS_AT_ONCE = 256;

/** Pause between two groups of reads, so that other requests are served in between. */
const REST_MS = 1;

export interface NumbersOfDays {
  /** When something was first counted, in milliseconds since 1970. Undefined: nothing was counted yet. */
  readonly firstAt: number | undefined;
  /** By the number of the day; only days on which something was counted. */
  readonly days: ReadonlyMap<number, Counters>;
}

/** The tags of all places that may have counters. A single Redis has one. */
export function counterTags(isOnCluster: boolean): string[] {
  return isOnCluster ? [COUNTERS_TAG, ...Array.from({ length: SLOTS }, (_, slot) => tagOf(slot))] : [COUNTERS_TAG];
}

/**
 * Reads the counters of days. On a Cluster each slot is asked for its days, which takes a tenth of a second.
 * @param from the number of the first day
 * @param to the number of the last day
 * @param readFields gives the fields and values of a hash in Redis
 */
export async function readNumbers(
  isOnCluster: boolean,
  from: number,
  to: number,
  readFields: (key: string) => Promise<[field: string, value: string][]>,
): Promise<NumbersOfDays> {
  const places = await inGroups(counterTags(isOnCluster), async (tag) => ({ tag, days: await readFields(numberKeys.countedDays(tag)) }));
  const times = places.flatMap(({ days }) => days.flatMap(([, firstAt]) => (firstAt === '0' ? [] : [Number(firstAt)])));
  const wanted = places.flatMap(({ tag, days }) =>
    days.map(([day]) => ({ tag, day: Number(day) })).filter(({ day }) => day >= from && day <= to),
  );
  const found = await inGroups(wanted, async ({ tag, day }) => ({ day, fields: await readFields(numberKeys.counters(tag, day)) }));
  const days = new Map<number, Map<string, number>>();
  for (const { day, fields } of found) {
    const counters = days.get(day) ?? new Map<string, number>();
    for (const [name, number] of fields) counters.set(name, (counters.get(name) ?? 0) + Number(number));
    days.set(day, counters);
  }
  return { firstAt: times.length === 0 ? undefined : times.reduce((least, at) => Math.min(least, at)), days };
}

/** About how many accounts acted, by the number of the day. */
export async function readActive(scripts: ScriptRunner): Promise<ReadonlyMap<number, number>> {
  return new Map((await readHash(scripts, numberKeys.activeCounts)).map(([day, count]) => [Number(day), Number(count)]));
}

/** The number of refusals in each of some hours, by error code. The newest hour comes first. */
export async function readRefusals(scripts: ScriptRunner, newestHour: number, hours: number): Promise<ReadonlyMap<string, number>[]> {
  const asked = Array.from({ length: hours }, (_, index) => newestHour - index);
  return inGroups(asked, async (hour) => {
    const fields = await readHash(scripts, numberKeys.refusals(hour));
    return new Map(fields.map(([code, count]) => [code, Number(count)]));
  });
}

async function inGroups<Item, Found>(items: readonly Item[], readOne: (item: Item) => Promise<Found>): Promise<Found[]> {
  const found: Found[] = [];
  for (let at = 0; at < items.length; at += READS_AT_ONCE) {
    if (at > 0) await pause(REST_MS);
    found.push(...(await Promise.all(items.slice(at, at + READS_AT_ONCE).map(readOne))));
  }
  return found;
}
