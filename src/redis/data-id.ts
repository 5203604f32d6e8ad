import { createHash, randomBytes } from 'node:crypto';
import { defineScript } from './script.ts';

/**
 * The key of the data id: a word that the first start draws, so that a process notices when Redis has other data than before. It lies
 * beside the version of the data. Its value is `<id> <heartbeat> <at> <accepted>`:
 * - the heartbeat, 15 digits: for how many milliseconds the data has been served. The processes move it on about every second. It is no
 *   clock: after a failover to a machine whose clock differs it neither jumps nor falls.
 * - at: when it was moved on, in milliseconds since 1970 by Redis's clock.
 * - accepted: when an operator accepted the data in place of other data, by the same clock. 0: never.
 *
 * In a Cluster each slot has a copy of the id, a mark, under a tag of its own. The heartbeat of a primary lies at the mark of its
 * lowest slot; the other marks have 0.
 */
export const DATA_ID_KEY = 'data:id';

export const DATA_ID_FORMAT = /^[A-Za-z0-9_-]{22}$/;

/** Digits of the heartbeat: scripts compare texts of one length. */
const HEARTBEAT_DIGITS = 15;

export function newDataId(): string {
  return randomBytes(16).toString('base64url').slice(0, 22);
}

/**
 * The id that data gets when an operator accepts it in place of the data with this id, which was lost. All processes derive the same
 * id: those that knew the old one need no other word that the data was accepted, and a later loss gives another id.
 */
export function successorOf(id: string): string {
  return createHash('sha256').update(`accepted in place of ${id}`).digest('base64url').slice(0, 22);
}

/** Whether data was accepted in place of that with the known id, several times at most. */
export function succeeds(id: string, known: string): boolean {
  for (let acceptances = 0, next = known; acceptances < MOST_ACCEPTANCES; acceptances++) if ((next = successorOf(next)) === id) return true;
  return false;
}

/** Whether a mark is of the data with the known id. While an operator accepts it, the slots get the next id one by one. */
export function isSameData(id: string | undefined, known: string): boolean {
  return id === known || (id !== undefined && (succeeds(id, known) || succeeds(known, id)));
}

/** An operator who accepts twice must not make a process refuse that was away meanwhile. */
const MOST_ACCEPTANCES = 8;

/** The value of the key. */
export function dataIdValue(id: string, heartbeat: number, at: number, acceptedAt: number): string {
  return `${id} ${heartbeatText(heartbeat)} ${at} ${acceptedAt}`;
}

/** As in the value of the key. */
export function heartbeatText(heartbeat: number): string {
  return String(Math.max(0, heartbeat)).padStart(HEARTBEAT_DIGITS, '0');
}

/** The id in a value of the key. Undefined if there is none. */
export function idIn(value: string | null): string | undefined {
  const id = value?.slice(0, 22);
  return id !== undefined && DATA_ID_FORMAT.test(id) ? id : undefined;
}

const lookAtDataParts = {
  file: new URL('look-at-data.lua', import.meta.url),
  keys: ['id', 'secret'],
  args: ['known', 'made', 'least', 'beats'],
  answers: ['found', 'missing'],
} as const;

export const lookAtData = defineScript(lookAtDataParts);

/** The same where Redis refuses writes: without an id to write, and without a heartbeat to move on. */
export const readData = defineScript({ ...lookAtDataParts, readOnly: true });

/** Its answer waits for the replicas: they have this heartbeat then. */
export const readHeartbeat = defineScript({
  file: new URL('read-heartbeat.lua', import.meta.url),
  keys: ['id'],
  args: [],
  answers: ['found'],
  durable: true,
});

export const acceptData = defineScript({
  file: new URL('accept-data.lua', import.meta.url),
  keys: ['id'],
  args: ['seen', 'to'],
  answers: ['accepted', 'changed'],
});
