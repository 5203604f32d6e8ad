import type { Auditor, Command, Finding, Probe } from '../../consistency/auditor.ts';
import {
  dueAnywhereCommands,
  dueAtOf,
  dueCommands,
  dueWithoutDocument,
  notQueued,
  queueCheck,
  type Queued,
} from '../../consistency/queue-check.ts';
import { timeText } from '../../consistency/time-text.ts';
import { listEntry, listedRoom, roomSummary } from './list/list-model.ts';
import { roomKeys } from './model.ts';
import { CHECK_LEASE_MS } from './presence.ts';
import { checkRoom } from './room-check.ts';
import { indexedRoom } from './room-index.ts';

/**
 * The longest time until a room in the queue is due, in milliseconds. HOST_GRACE_SECONDS is at most an hour, a lease lasts 10 s, and a
 * minute is for clocks that differ.
 */
const LATEST_DUE_MS = 3600_000 + 10_000 + 60_000;

/**
 * Checks the fields of rooms. Also checks that the queue has each room with connected players, and that the room is due before its first
 * lease ends.
 */
export const roomAuditor: Auditor = {
  keys: [
    queueCheck(roomKeys.due, wrongOf),
    queueCheck(roomKeys.expiry, wrongOfIndexed),
    { pattern: /^\{room:([^}]*)\}:leases$/, type: 'zset', check: ([code], probe) => checkIsQueued(code!, probe) },
    { pattern: /^\{room:([^}]*)\}$/, counted: 'rooms', type: 'hash', check: ([code], probe) => checkRoom(code!, probe) },
    { pattern: /^\{served:\d+\}$/, type: 'hash', life: 'ends' },
    // The audit does not compare lists with rooms, because a list may lag behind its rooms, and its entries end by themselves.
    {
      pattern: /^\{listed:(\*|[\w-]+)\}(?::untils)?$/,
      type: 'zset',
      texts: { what: 'entries', isRight: (entry) => listEntry.parse(entry) !== undefined, subject: listOf },
    },
    { pattern: /^\{listed:(\*|[\w-]+)\}:rooms$/, type: 'hash', texts: { what: 'rooms', isRight: isListed, subject: listOf } },
    { pattern: /^\{listed:(?:\*|[\w-]+)\}:(?:free|reserved)$/, type: 'zset' },
    { pattern: /^\{listed:(?:\*|[\w-]+)\}:taken$/, type: 'hash' },
    { pattern: /^\{listed:(?:\*|[\w-]+)\}:(?:version|match:[\w-]+)$/, type: 'string' },
  ],
};

function listOf([game]: readonly string[]): string {
  return `list of rooms ${game}`;
}

/** Whether the text that a list has for an entry can be read. */
function isListed(text: string, entry: string): boolean {
  const { summary } = listedRoom.parse(text) ?? {};
  return listEntry.parse(entry) !== undefined && (summary === '' || roomSummary.parse(summary ?? '') !== undefined);
}

/**
 * Says what is wrong with a member of the queue of rooms. If a room expires before it is due, its code stays in the queue until then. So a
 * code without a room is a finding only if it is due later than the service ever makes a room due.
 */
async function wrongOf(queued: Queued, probe: Probe): Promise<string | undefined> {
  const { member: code } = queued;
  const dueAt = await dueWithoutDocument(queued, roomKeys.room(code), LATEST_DUE_MS, probe);
  return dueAt === undefined
    ? undefined
    : `The queue has an entry for the room ${code}, due at ${timeText(dueAt)}, but this room does not exist.`;
}

/**
 * The latest time at which a room of the index is due, in milliseconds: a room lives for ROOM_TTL_SECONDS, which is a week at most, and a
 * minute is for clocks that differ.
 */
const LATEST_END_MS = 7 * 86_400_000 + 60_000;

/** Says what is wrong with a member of the index of rooms. An expired room stays in the index until it is due. */
async function wrongOfIndexed(queued: Queued, probe: Probe): Promise<string | undefined> {
  const { code } = indexedRoom.parse(queued.member) ?? {};
  if (code === undefined) return `The index of rooms has an entry that cannot be read: ${queued.member}.`;
  const dueAt = await dueWithoutDocument(queued, roomKeys.room(code), LATEST_END_MS, probe);
  return dueAt === undefined
    ? undefined
    : `The index has an entry for the room ${code}, due at ${timeText(dueAt)}, but this room does not exist.`;
}

async function checkIsQueued(code: string, probe: Probe): Promise<Finding[]> {
  const found = await findingsOf(code, probe, dueCommands);
  return found.length === 0 ? found : findingsOf(code, probe, dueAnywhereCommands);
}

async function findingsOf(code: string, probe: Probe, whenDue: typeof dueCommands): Promise<Finding[]> {
  const leases: Command = ['ZRANGE', roomKeys.leases(code), 0, 0, 'WITHSCORES'];
  const connectionId = ((await probe.ask(...leases)) as string[])[0]?.split(':')[1] ?? '';
  const [lease, ...times] = await probe.together(leases, ...whenDue(roomKeys.due, code, [connectionId]));
  const [, leaseEnd] = lease as string[];
  const dueAt = dueAtOf(times);
  // While a process checks the room, the room is due when the lease of that check ends (CHECK_LEASE_MS).
  if (leaseEnd === undefined || (dueAt !== undefined && dueAt <= Math.max(Number(leaseEnd), probe.now() + CHECK_LEASE_MS))) return [];
  const text =
    dueAt === undefined
      ? `The room has connected players, but ${roomKeys.due} has no entry for it.`
      : `The room is due at ${timeText(dueAt)}, which is after a lease ends at ${timeText(Number(leaseEnd))}.`;
  return notQueued({ queue: roomKeys.due, member: code, subject: `room ${code}`, text }, probe);
}
