import { refuse, Refusal } from '../errors.ts';
import { defineScript } from '../redis/script.ts';
import { redisFailure, type ScriptRunner } from '../redis/script-runner.ts';
import { banEndOf, type BanEnd } from './ban-end.ts';
import type { CallerScripts } from './caller-scripts.ts';
import { standingKey } from './account-keys.ts';
import { standingLibrary } from './standing.ts';

/**
 * Reads whether an account is open, banned, deleted, moving into another account, or moved. Answers open, banned(end, 0 without one),
 * moving, moved(account that it moved into), deleted(time).
 */
const readStanding = defineScript({
  name: 'accounts/read-standing',
  lua: `local state, detail = standing_of(standing)
    return {state, detail}`,
  keys: ['standing'],
  answers: ['open', 'banned', 'moving', 'moved', 'deleted'],
  library: standingLibrary,
  readOnly: true,
});

/** What a script answers about an account: it is open, banned, moving into another account, moved, or deleted. */
export type ReadStanding =
  | { readonly word: 'open' | 'moving' | 'deleted' }
  | { readonly word: 'banned'; readonly ban: BanEnd }
  | { readonly word: 'moved'; readonly target: string };

/**
 * Reads whether an account is open, banned, moving, moved or deleted, for scripts in the slot of a room or a purchase, which cannot read
 * the account.
 */
export async function standingOf(accountId: string, scripts: ScriptRunner): Promise<ReadStanding> {
  const [word, detail = ''] = await scripts.run(readStanding, { standing: standingKey(accountId) }, {});
  if (word === 'moved') return { word, target: detail };
  if (word === 'banned') return { word, ban: banEndOf(detail) };
  return { word };
}

/**
 * How long after an account moved or was deleted a script may still write to it, in milliseconds. On a Cluster a script in another slot
 * runs some time after the account was checked; a request lasts some seconds, so a minute is ample.
 */
export const LATE_MS = 60_000;

/**
 * The most moves that `follow` follows or waits for. An account moves once, and each wait ends with its move done or taken back, so a
 * longer search would not help.
 */
export const MOST_FOLLOWED = 4;

/**
 * Acts on an account, or on the account that it moved into. An unfinished move is finished or taken back first.
 * @param act the action, which does nothing to an account that is moving or has moved
 * @param whereIs reads from the result of `act` where the account is now. Undefined: the account is not moving and has not moved
 * @returns the result of `act`, and the account on which it acted: for a guest that moved, the account that the guest moved into
 * @throws Refusal `store_unavailable` if the account is moving for longer than a request waits
 */
export async function follow<Found>(
  accountId: string,
  scripts: Pick<CallerScripts, 'helpMove'>,
  act: (accountId: string) => Promise<Found>,
  whereIs: (found: Found) => 'moving' | { readonly target: string } | undefined,
): Promise<{ readonly accountId: string; readonly found: Found }> {
  let id = accountId;
  for (let reads = 0; reads <= MOST_FOLLOWED; reads++) {
    const found = await act(id);
    const where = whereIs(found);
    if (where === undefined) return { accountId: id, found };
    if (where === 'moving') await helpMove(id, scripts);
    else id = where.target;
  }
  throw stillMoving();
}

async function helpMove(accountId: string, scripts: Pick<CallerScripts, 'helpMove'>): Promise<void> {
  try {
    await scripts.helpMove(accountId);
  } catch (error) {
    throw error instanceof Refusal || redisFailure(error) !== undefined ? error : stillMoving(error);
  }
}

function stillMoving(cause?: unknown): Refusal {
  return refuse('store_unavailable', { message: 'The account is moving into another one: try again.', retryAfterMs: 1000 }, cause);
}

/** The answer of a script, and the account on which it acted: for a guest that moved, the account that the guest moved into. */
export interface ActedOn<Word> {
  readonly word: Word;
  /** The values behind the word in the script's answer. */
  readonly figures: readonly string[];
  readonly accountId: string;
}

/**
 * Runs a script for an account, or for the account that it moved into.
 * @param run runs the script. If the account is moving or has moved, the script does nothing, and answers `moving`, or `moved` and the
 * other account
 * @throws as `follow`
 */
export async function runWhereItIs<Word extends string>(
  accountId: string,
  scripts: Pick<CallerScripts, 'helpMove'>,
  run: (accountId: string) => Promise<[word: Word | 'moving' | 'moved', ...figures: string[]]>,
): Promise<ActedOn<Exclude<Word, 'moving' | 'moved'>>> {
  const { accountId: id, found } = await follow(accountId, scripts, run, ([word, target = '']) =>
    word === 'moving' ? 'moving' : word === 'moved' ? { target } : undefined,
  );
  const [word, ...figures] = found;
  return { word: word as Exclude<Word, 'moving' | 'moved'>, figures, accountId: id };
}

/** Reads whether an account, or the account that it moved into, is open, banned or deleted. @throws as `follow` */
export async function settled(
  accountId: string,
  scripts: CallerScripts,
): Promise<{ readonly accountId: string; readonly word: 'open' | 'banned' | 'deleted' }> {
  const { accountId: id, word } = await runWhereItIs(accountId, scripts, (currentId) =>
    scripts.run(readStanding, { standing: standingKey(currentId) }, {}),
  );
  return { accountId: id, word };
}
