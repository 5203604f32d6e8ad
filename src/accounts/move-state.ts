import { refuse, type Refusal } from '../errors.ts';
import { defineScript } from '../redis/script.ts';
import type { ScriptRunner } from '../redis/script-runner.ts';
import { banEndOf, type BanEnd } from './ban-end.ts';
import type { CallerScripts } from './caller-scripts.ts';
import { movesKey } from './keys.ts';

const readMove = defineScript({
  file: new URL('read-move.lua', import.meta.url),
  keys: ['moves'],
  args: [],
  answers: ['stays', 'moving', 'moved', 'deleted'],
  readOnly: true,
});

/** Where an account is: itself, under way into another one, in it, or deleted. */
export type MoveState =
  /** `ban`: set while it is banned. */
  | { readonly word: 'stays'; readonly ban: BanEnd | undefined }
  | { readonly word: 'deleted' }
  | { readonly word: 'moving' }
  | { readonly word: 'moved'; readonly target: string };

/** Looks at the move of one account. A script that works on another thing (a room, a purchase) does not see it. */
export async function moveOf(accountId: string, scripts: ScriptRunner): Promise<MoveState> {
  const [word, figure = ''] = await scripts.run(readMove, { moves: movesKey(accountId) }, {});
  if (word === 'moved') return { word, target: figure };
  if (word !== 'stays') return { word };
  return { word, ban: figure === '' ? undefined : banEndOf(figure) };
}

/** Looks at a move until it is over. Each look finishes or undoes it, so one look more is enough unless the account moves again. */
const LOOKS = 4;

/**
 * `moveOf` an account whose move is not under way: a move under way is finished or undone first.
 * @throws Refusal `store_unavailable` if the move does not end
 */
export async function settledMoveOf(accountId: string, scripts: CallerScripts): Promise<Exclude<MoveState, { word: 'moving' }>> {
  for (let look = 0; look < LOOKS; look++) {
    const state = await moveOf(accountId, scripts);
    if (state.word !== 'moving') return state;
    await scripts.helpMove(accountId);
  }
  throw stillMoving();
}

/**
 * On a Cluster a script in another slot than the account's runs after a look at the account. So it may write after the account moved or
 * was deleted, though no later than this, in milliseconds: a request lives some seconds.
 */
export const LATE_MS = 60_000;

/** What became of a change of an account, and the account that it concerns: of a guest that moved, the one that it moved into. */
export interface ActedOn<Word> {
  readonly word: Word;
  /** What the script answered behind its word. */
  readonly figures: readonly string[];
  readonly accountId: string;
}

/**
 * Runs a script for an account where the account is: a move under way is finished or undone first, and one that is done is followed.
 * @param act the script: it answers `moving`, or `moved` and the target, and then did nothing
 * @throws Refusal `store_unavailable` if the account is moving for longer than a request waits
 */
export async function whereItIs<Word extends string>(
  accountId: string,
  scripts: CallerScripts,
  act: (accountId: string) => Promise<[word: Word | 'moving' | 'moved', ...figures: string[]]>,
): Promise<ActedOn<Word>> {
  let id = accountId;
  for (let look = 0; look < LOOKS; look++) {
    const [word, ...figures] = await act(id);
    if (word === 'moving') await scripts.helpMove(id);
    else if (word === 'moved') id = figures[0] ?? '';
    else return { word, figures, accountId: id } as ActedOn<Word>;
  }
  throw stillMoving();
}

function stillMoving(): Refusal {
  return refuse('store_unavailable', { message: 'The account is moving into another one: try again.' });
}
