import { expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { Refusal } from '../../src/errors.ts';
import { adjust } from '../../src/operator/adjust.ts';
import { ban, unban } from '../../src/operator/ban.ts';
import { dropArchive, listBoard, removeEntry, resetBoard } from '../../src/operator/boards.ts';
import { deleteAccount } from '../../src/operator/delete.ts';
import { perform } from '../../src/operator/operation.ts';
import { readLog } from '../../src/operator/operator-log.ts';
import { endRoom, showRoom } from '../../src/operator/rooms.ts';
import { show } from '../../src/operator/show-account.ts';
import { signOut } from '../../src/operator/sign-out.ts';
import { dyingAt, WatchedScripts } from '../features/guest-moves/mortal.ts';
import { forFile, freshId } from '../harness.ts';
import { openParts, startOperated } from './parts.ts';

/** An operator's process dies at each of its calls to Redis, before Redis runs the call or after it. */

const { service, parts } = await forFile(startOperated());
const operator = { by: 'ada@ops-1', role: 'admin' } as const;

interface Scene {
  readonly installId: string;
  readonly input: object;
  /** The changed state, as an operator sees it. */
  readonly state: () => Promise<unknown>;
}

// oxlint-disable-next-line no-explicit-any
const read = async (operation: unknown, input: object): Promise<any> => perform(operation as typeof show, input, parts, operator);

async function account(): Promise<Scene> {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins: 100, key: 'first' });
  const input = { accountId: accountIdOf(installId) };
  const state = async () => {
    const shown = await read(show, input);
    if (shown instanceof Refusal) return { standing: shown.code };
    return { balanceCoins: shown.balanceCoins, standing: shown.state, sessions: shown.sessions };
  };
  return { installId, input, state };
}

async function board(): Promise<Scene> {
  const [game, installId] = [freshId('game').toLowerCase(), freshId()];
  for (const each of [installId, freshId()]) await service.post(`/v1/highscores/${game}`, { installId: each, score: 5, name: 'Ada' });
  const state = async () => {
    const { count, archives } = await read(listBoard, { game });
    return {
      count,
      archives: archives.map((each: Record<string, unknown>) => (each['droppedAt'] === undefined ? each['entries'] : 'dropped')),
    };
  };
  return { installId, input: { game }, state };
}

async function room(): Promise<Scene> {
  const installId = freshId();
  const { code } = (await service.post('/v1/rooms', { installId })).body.room;
  return { installId, input: { code }, state: async () => ({ phase: (await read(showRoom, { code })).room.phase }) };
}

interface Change {
  readonly operation: unknown;
  readonly scene: () => Promise<Scene>;
  /** An operation that comes first. */
  readonly first?: unknown;
  readonly more?: (scene: Scene) => object;
  /** The state after the change, even if the operator made it several times. */
  readonly done: object;
}

const changes: Record<string, Change> = {
  'an adjustment': { operation: adjust, scene: account, more: () => ({ coins: 7, key: 'ticket-1' }), done: { balanceCoins: 107 } },
  'a ban': { operation: ban, scene: account, done: { standing: 'banned', balanceCoins: 100 } },
  'the end of a ban': { operation: unban, scene: account, first: ban, done: { standing: 'open' } },
  'a sign-out': { operation: signOut, scene: account, done: { sessions: { listed: [], signOutsEverywhere: expect.any(Number) } } },
  'the deletion of an account': { operation: deleteAccount, scene: account, done: { standing: 'account_deleted' } },
  'a removal': {
    operation: removeEntry,
    scene: board,
    more: ({ installId }) => ({ player: accountIdOf(installId) }),
    done: { count: 1, archives: [] },
  },
  'a reset': { operation: resetBoard, scene: board, done: { count: 0, archives: [2] } },
  'the deletion of an archive': {
    operation: dropArchive,
    scene: board,
    first: resetBoard,
    more: () => ({ archive: 1 }),
    done: { count: 0, archives: ['dropped'] },
  },
  'the end of a room': { operation: endRoom, scene: room, done: { phase: 'ended' } },
};

/** Makes the change with a process that dies at a call. @returns whether the process survived, because it makes fewer calls */
async function dies({ operation, scene, first, more, done }: Change, number: number, isAfter: boolean): Promise<boolean> {
  const made = await scene();
  const { state } = made;
  if (first !== undefined) await read(first, { ...made.input, reason: 'first' });
  const input = { ...made.input, ...more?.(made) };
  const reason = freshId('reason');
  const death = dyingAt(number, isAfter);
  const scripts = new WatchedScripts(service.service.connections.scripts, { now: service.now });
  scripts.around = death.around;
  using mortal = openParts(service, scripts);
  const before = await state();
  await perform(operation as typeof show, { ...input, reason }, mortal.parts, operator).catch((error: Error) => error);
  const after = await state();
  const entries = (await readLog(0, 20, parts)).filter(({ why }) => why === reason);
  const where = `${isAfter ? 'after' : 'before'} call ${number}`;
  const hasHappened = JSON.stringify(after) !== JSON.stringify(before);
  if (hasHappened) {
    expect([where, after]).toEqual([where, expect.objectContaining(done)]);
    expect([where, entries]).toMatchObject([where, [{ by: operator.by }]]);
    expect([where, entries[0]!.outcome?.word ?? 'not known']).toEqual([where, expect.stringMatching(/^(done|not known)$/)]);
  } else {
    expect([where, entries.map(({ outcome }) => outcome)]).toEqual([where, entries.map(() => undefined)]);
  }
  // The operator makes the change again.
  const again = await perform(operation as typeof show, { ...input, reason }, parts, operator);
  if (!hasHappened) expect([where, again]).not.toEqual([where, expect.any(Refusal)]);
  expect([where, await state()]).toEqual([where, expect.objectContaining(done)]);
  return death.calls() < number;
}

test.each(Object.entries(changes))(
  '%s happens completely or not at all, is in the log if it happened, and never happens twice',
  async (_, change) => {
    let calls = 0;
    for (const isAfter of [false, true]) for (calls = 1; !(await dies(change, calls, isAfter)); calls++);
    // The calls: a read, the entry, the change, the outcome.
    expect(calls - 1).toBeGreaterThanOrEqual(4);
  },
);
