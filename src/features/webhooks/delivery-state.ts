import { leaseLibrary } from '../../redis/lease.ts';
import { readHash } from '../../redis/reads.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { hookKeys, KEPT_ATTEMPTS, type Attempted } from './model.ts';

/** The state of deliveries in Redis. */

const leaseHooks = defineScript({
  file: new URL('lease-hooks.lua', import.meta.url),
  keys: ['hooks'],
  args: ['holder', 'leaseMs'],
  answers: ['held'],
  library: leaseLibrary,
});

const noteDeliveries = defineScript({
  file: new URL('note-deliveries.lua', import.meta.url),
  keys: ['hooks', 'state', 'waiting', 'delivered', 'failed', 'asked'],
  args: ['id', 'holder', 'leaseMs', 'turn', 'cursor', 'waits', 'successes', 'failures', 'kept', 'askedDone', 'disabled'],
  answers: ['noted', 'lost'],
  library: leaseLibrary,
});

/** A hook whose lease this process has. */
export interface HeldHook {
  readonly id: string;
  /** The hook's record in Redis. */
  readonly text: string;
  /** The hook's position in the log of events. Undefined if no process has leased the hook before. */
  readonly cursor: number | undefined;
  readonly turn: number;
  /** Events that operators have asked to deliver again, as JSON. */
  readonly asked: readonly string[];
}

/** Leases the enabled hooks that no process has leased, and renews the leases of this process. */
export async function leasedHooks(scripts: ScriptRunner, holder: string, leaseMs: number): Promise<HeldHook[]> {
  const [, ...words] = await scripts.run(leaseHooks, { hooks: hookKeys.hooks }, { holder, leaseMs });
  const hooks: HeldHook[] = [];
  for (let at = 0; at < words.length;) {
    const [id = '', text = '', cursor, turn, count] = words.slice(at, at + 5);
    at += 5;
    const asked = words.slice(at, (at += Number(count)));
    hooks.push({ id, text, cursor: cursor === '' ? undefined : Number(cursor), turn: Number(turn), asked });
  }
  return hooks;
}

/** The waiting events of a hook, by account. */
export function waitingOf(scripts: ScriptRunner, id: string): Promise<[key: string, text: string][]> {
  return readHash(scripts, hookKeys.waiting(id));
}

/** The progress of a hook's deliveries since the last call of `note`. */
export interface Noted {
  readonly turn: number;
  readonly cursor: number;
  readonly waits: readonly (readonly [key: string, text: string])[];
  readonly attempts: readonly Attempted[];
  /** The number of entries of the list `asked` whose events have become waiting events, so that these entries can be deleted. */
  readonly askedDone: number;
  /** The time at which the endpoint answered 410, in milliseconds since 1970. Undefined if it did not. */
  readonly goneAt: number | undefined;
}

/**
 * Stores the progress of a hook's deliveries, and renews the lease.
 * @param leaseMs how long the lease lasts from now on; 0 ends it
 * @returns the hook's record. Undefined: nothing was stored, because another process has the lease or the state in Redis has changed
 */
export async function note(scripts: ScriptRunner, id: string, holder: string, leaseMs: number, noted: Noted): Promise<string | undefined> {
  const { turn, cursor, waits, attempts, askedDone, goneAt } = noted;
  const { hooks, state, waiting, delivered, failed, asked } = hookKeys;
  const textsOf = (isSuccess: boolean): string =>
    JSON.stringify(
      attempts
        .filter(({ outcome }) => (outcome === 'delivered') === isSuccess)
        .slice(-KEPT_ATTEMPTS)
        .map((attempt) => JSON.stringify(attempt)),
    );
  const [word, record] = await scripts.run(
    noteDeliveries,
    { hooks, state: state(id), waiting: waiting(id), delivered: delivered(id), failed: failed(id), asked: asked(id) },
    {
      id,
      holder,
      leaseMs,
      turn,
      cursor,
      waits: JSON.stringify(waits),
      successes: textsOf(true),
      failures: textsOf(false),
      kept: KEPT_ATTEMPTS,
      askedDone,
      disabled: goneAt === undefined ? '' : JSON.stringify({ by: 'gone', at: goneAt }),
    },
  );
  return word === 'noted' ? record : undefined;
}
