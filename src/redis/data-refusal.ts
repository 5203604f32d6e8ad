import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import type { Cluster } from './cluster-client.ts';
import { DATA_ID_KEY, readId, REFUSED } from './data-id.ts';
import { timeOf } from './older-than-data-dir.ts';

/**
 * Why a service refuses data that it knows by its id: the data is older than the state that the service saw, or has another secret. Only
 * the memory of a service shows that. So the service marks the data itself, and no other service serves it, even one that never saw it.
 * Data with another id, and a Redis without data, get no mark: they may belong to other services, and this one have wrong settings.
 *
 * The mark is in the value of the data id: `refused: <the value before> <since> <kind> <right secret> <reason>`. It goes with the data: data
 * that takes the place of this data has none, and an acceptance removes it. Scripts compare the first 22 characters of the value, so they
 * stop at the next batch. A service of a release without marks finds no id, and stops too. In a Cluster each slot of the refused primary has
 * the mark.
 */
export interface DataRefusal {
  readonly kind: 'older' | 'secret';
  /** A hash of the secret with which the data may be served again. '-': no secret makes it right. */
  readonly rightSecret: string;
  /** Words that follow the name of a Redis. */
  readonly reason: string;
}

/** A refusal that was read in the data. */
export interface MarkedRefusal extends DataRefusal {
  /** When it was written, in milliseconds since 1970 by Redis's clock. */
  readonly since: number;
}

/** @param missing as of `missingFrom` */
export function refusalOfOlder(behindMs: number, missing: string): DataRefusal {
  const seconds = Math.max(1, Math.round(behindMs / 1000));
  const reason = `was restored to a state that is ${seconds} s older than the one that the service on ${hostname()} saw${missing}`;
  return { kind: 'older', rightSecret: '-', reason };
}

/** @param secret the right one */
export function refusalOfSecret(secret: string): DataRefusal {
  const reason = `has another secret of the ledgers than the service on ${hostname()} saw`;
  return { kind: 'secret', rightSecret: hashOfSecret(secret), reason };
}

/** @param text the mark behind the value of the data id. '': none */
export function parseRefusal(text: string): MarkedRefusal | undefined {
  if (text === '') return undefined;
  const [, since, kind, rightSecret, reason] = /^(\d{1,15}) (older|secret) (\S+) (.+)$/.exec(text) ?? [];
  // A newer coinop may have other reasons.
  if (since === undefined) return { since: 0, kind: 'older', rightSecret: '-', reason: `was refused by a service: ${text}` };
  return { since: Number(since), kind: kind as DataRefusal['kind'], rightSecret: rightSecret!, reason: reason! };
}

/** The mark without its time. */
export function refusalText({ kind, rightSecret, reason }: DataRefusal): string {
  return `${kind} ${rightSecret} ${reason}`;
}

/** The refusals in one Redis, or on the primaries of a Cluster that answer: words for operators, without a full stop. */
export async function refusalsIn(source: Redis | Cluster): Promise<string[]> {
  if (!('shards' in source)) return describe('this Redis', await readId(source));
  const found = await Promise.all(
    source.shards.map(async ({ redis, name, lowestTag }) =>
      redis.status !== 'ready' || lowestTag === undefined ? [] : describe(name, await readId(redis, `${lowestTag}${DATA_ID_KEY}`)),
    ),
  );
  return found.flat();
}

/** @param value of the data id */
function describe(name: string, value: string | null): string[] {
  const [, text = ''] = new RegExp(`^${REFUSED}\\S+ \\d+ \\d+ \\d+ (.+)$`).exec(value ?? '') ?? [];
  const refusal = parseRefusal(text);
  return refusal === undefined ? [] : [describeRefusal(name, refusal)];
}

/** @param name of a Redis */
export function describeRefusal(name: string, { reason, since }: MarkedRefusal): string {
  return `${name} ${reason} (refused since ${timeOf(since)})`;
}

/** As `DataRefusal.rightSecret`. */
export function hashOfSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
