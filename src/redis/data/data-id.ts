import { createHash, randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { defineLibrary, defineScript } from '../script.ts';
import { ForeignValue, otherType } from '../text-key.ts';

/**
 * The Redis key of the data id: a random text that the first start writes. A changed text shows a process that Redis has other data than
 * before. Its value is `<id> <heartbeat> <at> <accepted>`:
 * - heartbeat, 15 digits: for how many milliseconds the data has been served. The processes advance this number about every second. The
 *   heartbeat is not a clock: after a failover to a machine whose clock differs the heartbeat neither jumps nor falls.
 * - at: when the heartbeat was last advanced, in milliseconds since 1970 by Redis's clock.
 * - accepted: when an operator accepted the data in place of other data, in milliseconds since 1970 by Redis's clock. 0: never.
 *
 * While a service refuses the data, the value is different (`data-refusal.ts`).
 *
 * In a Cluster each slot has a copy of the data id under a hash tag of the slot: the slot's data id. The heartbeat of a primary is in the
 * data id of its lowest slot; the data ids of its other slots have 0.
 */
export const DATA_ID_KEY = 'data:id';

/** The beginning of the data id's value while the data is refused. */
export const REFUSED = 'refused: ';

/**
 * How far the heartbeat in Redis may be behind the last acknowledged heartbeat, in milliseconds of serving. A failover to a replica that
 * lags loses less than this. The service then logs the loss and serves the data. A larger difference shows that Redis was restored to an
 * older state.
 */
export const MOST_BEHIND_MS = 10_000;

/** Whether data with `heartbeat` is too old to be served by a process that has seen the heartbeat `seen`. */
export function isTooOld(heartbeat: number, seen: number): boolean {
  return seen - heartbeat > MOST_BEHIND_MS;
}

export const DATA_ID_FORMAT = /^[A-Za-z0-9_-]{22}$/;

/** Digits of the heartbeat. The number is fixed, because scripts compare heartbeats as texts. */
const HEARTBEAT_DIGITS = 15;

export function newDataId(): string {
  return randomBytes(16).toString('base64url').slice(0, 22);
}

/**
 * The id that data gets when an operator accepts it in place of the lost data with the given id. All processes derive the same new id, so a
 * process that knew the old id recognises the accepted data.
 */
export function successorOf(id: string): string {
  return createHash('sha256').update(`accepted in place of ${id}`).digest('base64url').slice(0, 22);
}

/** Whether data was accepted, perhaps several times in a row, in place of the data with the known id. */
export function succeeds(id: string, known: string): boolean {
  for (let acceptances = 0, next = known; acceptances < MOST_ACCEPTANCES; acceptances++) if ((next = successorOf(next)) === id) return true;
  return false;
}

/** Whether a slot's data id belongs to the data with the known id. While an operator accepts data, the slots get the next id one by one. */
export function isSameData(id: string | undefined, known: string): boolean {
  return id === known || (id !== undefined && (succeeds(id, known) || succeeds(known, id)));
}

/**
 * The highest number of acceptances in a row that a process recognises. An operator may accept data several times while the process is
 * down.
 */
const MOST_ACCEPTANCES = 8;

/** A value of the data id. */
export function dataIdValue(id: string, heartbeat: number, at: number, acceptedAt: number): string {
  return `${id} ${heartbeatText(heartbeat)} ${at} ${acceptedAt}`;
}

/** The heartbeat as text of HEARTBEAT_DIGITS digits. */
export function heartbeatText(heartbeat: number): string {
  return String(Math.max(0, heartbeat)).padStart(HEARTBEAT_DIGITS, '0');
}

/** The id in a value of the data id. Undefined if the value has no id, or if the data is refused. */
export function idIn(value: string | null): string | undefined {
  const id = value?.slice(0, 22);
  return id !== undefined && DATA_ID_FORMAT.test(id) ? id : undefined;
}

/** The id in a value of the data id, also if the data is refused. */
export function anyIdIn(value: string | null): string | undefined {
  return idIn(value?.startsWith(REFUSED) === true ? value.slice(REFUSED.length) : value);
}

/**
 * The value of the data id of a Redis, or of a slot's data id. MGET reads a value of another type as null, so it is treated as a missing
 * id, as in the scripts.
 * @throws Error if Redis does not answer
 */
export async function readId(redis: Redis, key = DATA_ID_KEY): Promise<string | null> {
  return (await redis.mget(key))[0]!;
}

/** The foreign value that another program has written under the key of the data id. Undefined: the key has an id, or does not exist. */
export async function foreignId(redis: Redis): Promise<ForeignValue | undefined> {
  const [value, type] = [await readId(redis), await redis.type(DATA_ID_KEY)];
  if (type === 'none' || anyIdIn(value) !== undefined) return undefined;
  const found = value === null ? otherType(type) : `is "${value.slice(0, 40)}", and not an id of data`;
  const mend = 'If all other data is right, give it a new id: npm run admin -- data accept (docs/operating.md#data-that-is-gone).';
  return new ForeignValue(DATA_ID_KEY, found, mend);
}

/** The heartbeat in a value of the data id, and the time at which it was last advanced. Undefined if the value has no heartbeat. */
export function heartbeatIn(value: string | null): { readonly heartbeat: number; readonly at: number } | undefined {
  const [, heartbeat, at] = /^\S{22} (\d{15}) (\d{1,15}) /.exec(value ?? '') ?? [];
  return heartbeat === undefined ? undefined : { heartbeat: Number(heartbeat), at: Number(at) };
}

const library = defineLibrary(new URL('data-id.lua', import.meta.url));

const checkDataParts = {
  file: new URL('check-data.lua', import.meta.url),
  keys: ['id', 'secret'],
  args: ['known', 'made', 'least', 'beats'],
  answers: ['found', 'missing'],
  library,
} as const;

export const checkData = defineScript(checkDataParts);

/**
 * The script `check-data.lua`, declared as a script that only reads, for a Redis that refuses writes. Its callers pass arguments with which
 * it writes no id and does not advance the heartbeat.
 */
export const readData = defineScript({ ...checkDataParts, readOnly: true });

/**
 * Reads the heartbeat, the data's count of milliseconds of serving (data-id.ts). The batch of a durable script begins with a write, so
 * Redis answers only when the replicas have the heartbeat too. Answers found(id, heartbeat).
 */
export const readHeartbeat = defineScript({
  name: 'redis/read-heartbeat',
  lua: `local found, heartbeat = string.match(redis.call('GET', id), '^(%S+) (%d+) ')
    return {'found', found, heartbeat}`,
  keys: ['id'],
  answers: ['found'],
  durable: true,
});

export const acceptData = defineScript({
  file: new URL('accept-data.lua', import.meta.url),
  keys: ['id'],
  args: ['seen', 'to'],
  answers: ['accepted', 'changed'],
  library,
});
