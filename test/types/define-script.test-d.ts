import type { Services } from '../../src/declare.ts';
import { refuse } from '../../src/errors.ts';
import { defineScript } from '../../src/redis/script.ts';
import type { Caller } from '../../src/server/identity/caller.ts';

/**
 * The types that a script's declaration gives its callers. `tsc` checks this file (`npm run check`); it never runs.
 * The line below each `@ts-expect-error` must not compile: `tsc` fails if it does. All other lines must compile, and show
 * that the mistake alone makes the difference.
 */

type ScriptRunner = Services['scripts'];

const takeSeat = defineScript({
  file: new URL('take-seat.lua', import.meta.url),
  keys: ['room', 'players'],
  args: ['name', 'at'],
  answers: ['done', 'room_full'],
});

const keys = { room: '{BCDFG}:room', players: '{BCDFG}:players' };
const args = { name: 'Ada', at: 1 };

export async function keysAndArguments(scripts: ScriptRunner, caller: Caller, maybe: Caller | undefined): Promise<void> {
  await scripts.run(takeSeat, keys, args);
  await scripts.runAs(caller, takeSeat, keys, args);

  // @ts-expect-error KEYS has no seats
  await scripts.run(takeSeat, { room: '{BCDFG}:room', seats: '{BCDFG}:players' }, args);
  // @ts-expect-error KEYS has no additional seats
  await scripts.run(takeSeat, { room: '{BCDFG}:room', players: '{BCDFG}:players', seats: '' }, args);
  // @ts-expect-error a key is a string
  await scripts.run(takeSeat, { room: 1, players: '{BCDFG}:players' }, args);
  // @ts-expect-error at is missing from ARGV
  await scripts.run(takeSeat, keys, { name: 'Ada' });
  // @ts-expect-error ARGV has no additional now
  await scripts.run(takeSeat, keys, { name: 'Ada', at: 1, now: 1 });
  // @ts-expect-error KEYS come before ARGV
  await scripts.run(takeSeat, args, keys);

  // @ts-expect-error KEYS has no seats
  await scripts.runAs(caller, takeSeat, { room: '{BCDFG}:room', seats: '{BCDFG}:players' }, args);
  // @ts-expect-error at is missing from ARGV
  await scripts.runAs(caller, takeSeat, keys, { name: 'Ada' });
  // @ts-expect-error there may be no caller
  await scripts.runAs(maybe, takeSeat, keys, args);
}

export async function answers(scripts: ScriptRunner, caller: Caller): Promise<unknown> {
  const [word, figure] = await scripts.run(takeSeat, keys, args);
  if (word === 'done') return figure?.length;
  // @ts-expect-error room_locked is no answer of this script
  if (word === 'room_locked') return undefined;
  // With `done` returned above, one word is left, and it is an error code.
  refuse(word) satisfies Error & { code: 'room_full' };

  const [named] = await scripts.runAs(caller, takeSeat, keys, args);
  // @ts-expect-error done is no error code
  return refuse(named);
}
