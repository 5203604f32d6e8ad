import type { Auditor, Command, Finding, Look } from '../../consistency/auditor.ts';
import { dueAnywhereCommands, dueAtOf, dueCommands, queueCheck, type Queued } from '../../consistency/queue-check.ts';
import { roomKeys } from './model.ts';
import { LOOK_LEASE_MS } from './presence.ts';
import { checkRoom } from './room-check.ts';

/**
 * The latest time at which `presence.lua` lets a room be due: HOST_GRACE_SECONDS is at most an hour, a lease 10 s. The margin is
 * for clocks that differ.
 */
const LATEST_DUE_MS = 3600_000 + 10_000 + 60_000;

/** Checks the fields of rooms, and their queue: a room with connected players is in it, and comes up before the first of their leases ends. */
export const roomAuditor: Auditor = {
  keys: [
    queueCheck(roomKeys.due, wrongOf),
    { pattern: /^\{room:([^}]*)\}:leases$/, check: ([code], look) => checkIsQueued(code!, look) },
    { pattern: /^\{room:([^}]*)\}$/, counted: 'rooms', check: ([code], look) => checkRoom(code!, look) },
    { pattern: /^\{room:[^}]*\}:ticket:[\w-]+$/ },
    // Lists hold what processes know of rooms, and entries end by themselves: that they are behind is no drift.
    { pattern: /^\{listed:(?:\*|[\w-]+)\}(?::(?:untils|rooms|version|free|reserved|taken|match:[\w-]+))?$/ },
  ],
};

/**
 * A room may expire before it comes up: `presence.lua` then takes its code out of the queue. A code without a room therefore
 * counts as drift only if it can never have been put there.
 */
async function wrongOf({ key, entry, member: code }: Queued, look: Look): Promise<string | undefined> {
  const [dueAt, isThere] = await look.together(['ZSCORE', key, entry], ['EXISTS', roomKeys.room(code)]);
  if (dueAt === null || isThere === 1 || Number(dueAt) < Date.now() + LATEST_DUE_MS) return undefined;
  return `It holds the room ${code} for ${timeText(Number(dueAt))}, but there is no such room.`;
}

async function checkIsQueued(code: string, look: Look): Promise<Finding[]> {
  const found = await findingsOf(code, look, dueCommands);
  return found.length === 0 ? found : findingsOf(code, look, dueAnywhereCommands);
}

async function findingsOf(code: string, look: Look, whenDue: typeof dueCommands): Promise<Finding[]> {
  const leases: Command = ['ZRANGE', roomKeys.leases(code), 0, 0, 'WITHSCORES'];
  const connectionId = ((await look.ask(...leases)) as string[])[0]?.split(':')[1] ?? '';
  const [first, ...times] = await look.together(leases, ...whenDue(roomKeys.due, code, [connectionId]));
  const [, leaseEnd] = first as string[];
  const dueAt = dueAtOf(times);
  // While a process looks at the room, the queue holds it for the end of that process's lease.
  if (leaseEnd === undefined || (dueAt !== undefined && dueAt <= Math.max(Number(leaseEnd), Date.now() + LOOK_LEASE_MS))) return [];
  const text =
    dueAt === undefined
      ? `It has connected players, but ${roomKeys.due} does not hold it.`
      : `It comes up at ${timeText(dueAt)}, after a lease ends at ${timeText(Number(leaseEnd))}.`;
  return [{ kind: 'document_without_queue', subject: `room ${code}`, text }];
}

/** A time that no date can hold is shown as the number that it is. */
function timeText(milliseconds: number): string {
  return Math.abs(milliseconds) <= 8.64e15 ? new Date(milliseconds).toISOString() : String(milliseconds);
}
