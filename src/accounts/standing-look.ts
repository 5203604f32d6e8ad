import { refuse, Refusal } from '../errors.ts';
import { defineScript } from '../redis/script.ts';
import { redisFailure, type ScriptRunner } from '../redis/script-runner.ts';
import { banEndOf, type BanEnd } from './ban-end.ts';
import type { CallerScripts } from './caller-scripts.ts';
import { standingKey } from './account-keys.ts';
import { standingLibrary } from './standing.ts';

const readStanding = defineScript({
  file: new URL('read-standing.lua', import.meta.url),
  keys: ['standing'],
  args: [],
  answers: ['open', 'banned', 'moving', 'moved', 'deleted'],
  library: standingLibrary,
  readOnly: true,
});

/** Whether an account is open, banned, moving into another one, moved, or deleted. */
export type StandingLook =
  | { readonly word: 'open' | 'moving' | 'deleted' }
  | { readonly word: 'banned'; readonly ban: BanEnd }
  | { readonly word: 'moved'; readonly target: string };

/** Looks at the standing of one account. A script that works on another thing (a room, a purchase) does not see it. */
export async function standingOf(accountId: string, scripts: ScriptRunner): Promise<StandingLook> {
  const [word, detail = ''] = await scripts.run(readStanding, { standing: standingKey(accountId) }, {});
  if (word === 'moved') return { word, target: detail };
  if (word === 'banned') return { word, ban: banEndOf(detail) };
  return { word };
}

/**
 * On a Cluster a script in another slot than the account's runs after a look at the account. So it may write after the account moved or
 * was deleted, though no later than this, in milliseconds: a request lives some seconds.
 */
export const LATE_MS = 60_000;

/**
 * Looks after which an account counts as still moving. It moves once, and each wait ends its move or takes it back: more are no accident.
 */
export const MOST_FOLLOWED = 4;

/**
 * Acts on an account where it is: a move under way is finished or taken back first, and one that is done is followed.
 * @param act does nothing to an account that is moving or has moved
 * @param whereIs tells from what the act found where the account is now. Undefined: it neither moves nor has moved
 * @returns what the act found, and the account: of a guest that moved, the one that it moved into
 * @throws Refusal `store_unavailable` if the account is moving for longer than a request waits
 */
export async function follow<Found>(
  accountId: string,
  scripts: Pick<CallerScripts, 'helpMove'>,
  act: (accountId: string) => Promise<Found>,
  whereIs: (found: Found) => 'moving' | { readonly target: string } | undefined,
): Promise<{ readonly accountId: string; readonly found: Found }> {
  let id = accountId;
  for (let looks = 0; looks <= MOST_FOLLOWED; looks++) {
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

/** The answer of a script, and the account on which it acted: for a guest that moved, the one that it moved into. */
export interface ActedOn<Word> {
  readonly word: Word;
  /** What the script answered behind its word. */
  readonly figures: readonly string[];
  readonly accountId: string;
}

/**
 * Runs a script for an account where the account is.
 * @param run the script: it answers `moving`, or `moved` and the target, and then did nothing
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

/** The standing of an account where it is now: its own, or that of the account that it moved into. @throws as `follow` */
export async function settled(
  accountId: string,
  scripts: CallerScripts,
): Promise<{ readonly accountId: string; readonly word: 'open' | 'banned' | 'deleted' }> {
  const { accountId: id, word } = await runWhereItIs(accountId, scripts, (each) =>
    scripts.run(readStanding, { standing: standingKey(each) }, {}),
  );
  return { accountId: id, word };
}
