import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import type { Cluster } from '../cluster-client.ts';
import { DATA_ID_KEY, readId, REFUSED } from './data-id.ts';
import { timeOf } from './describe-older-data.ts';

/**
 * The reason why a service refuses data whose id it knows: the data is older than the state that the service saw, or has another secret.
 * Only the memory of a service shows this. So the service writes a note of its refusal into the data. Other services then do not serve the
 * data either, even if they never saw the newer state. Data with another id, and a Redis without data, get no note, because the data may
 * belong to other services, and the settings of this service may be wrong.
 *
 * The refusal note is in the value of the data id: `refused: <the value before> <since> <kind> <right secret> <reason>`. The note stays
 * with the refused data. Data that takes its place has no note, and accepting the data removes the note. Scripts compare the first 22
 * characters of the value, so all services stop at their next batch. A service of a release without refusal notes finds no id, and stops
 * too. In a Cluster each slot of the refused primary has the note.
 */
export interface DataRefusal {
  readonly kind: 'older' | 'secret';
  /** A hash of the secret with which the data may be served again. '-': the data may not be served with any secret. */
  readonly rightSecret: string;
  /** The reason in words that follow the name of a Redis: `has another secret of the ledgers than …`. */
  readonly reason: string;
}

/** A refusal that a process has read from the data id. */
export interface NotedRefusal extends DataRefusal {
  /** When the refusal note was written, in milliseconds since 1970 by Redis's clock. */
  readonly since: number;
}

/** @param missing the words of `missingFrom` for the changes that are missing in the data */
export function refusalOfOlder(behindMs: number, missing: string): DataRefusal {
  const seconds = Math.max(1, Math.round(behindMs / 1000));
  const reason = `was restored to a state that is ${seconds} s older than the one that the service on ${hostname()} saw${missing}`;
  return { kind: 'older', rightSecret: '-', reason };
}

/** @param secret the right secret, which the service saw before */
export function refusalOfSecret(secret: string): DataRefusal {
  const reason = `has another secret of the ledgers than the service on ${hostname()} saw`;
  return { kind: 'secret', rightSecret: hashOfSecret(secret), reason };
}

/** @param text the part of the data id's value behind the accepted time. '': the data is not refused */
export function parseRefusal(text: string): NotedRefusal | undefined {
  if (text === '') return undefined;
  const [, since, kind, rightSecret, reason] = /^(\d{1,15}) (older|secret) (\S+) (.+)$/.exec(text) ?? [];
  // The whole text is kept, because a newer coinop may have other kinds of refusals.
  if (since === undefined) return { since: 0, kind: 'older', rightSecret: '-', reason: `was refused by a service: ${text}` };
  return { since: Number(since), kind: kind as DataRefusal['kind'], rightSecret: rightSecret!, reason: reason! };
}

/** Kind, right secret and reason of the refusal note: the script adds the time before them. */
export function refusalText({ kind, rightSecret, reason }: DataRefusal): string {
  return `${kind} ${rightSecret} ${reason}`;
}

/** Describes the refusals in one Redis, or on those primaries of a Cluster that answer, in words for operators, without a full stop. */
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

/** The refusal in words for operators. @param name of the Redis that has the data */
export function describeRefusal(name: string, { reason, since }: NotedRefusal): string {
  return `${name} ${reason} (refused since ${timeOf(since)})`;
}

/** The hash of a secret, as in `DataRefusal.rightSecret`. */
export function hashOfSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
