import { refuse } from '../errors.ts';
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
  /** `hasRecord`: guests moved into it, or its sessions were ended together. `ban`: set while it is banned. */
  | { readonly word: 'stays'; readonly hasRecord: boolean; readonly ban: BanEnd | undefined }
  | { readonly word: 'deleted' }
  | { readonly word: 'moving' }
  | { readonly word: 'moved'; readonly target: string };

/** Looks at the move of one account. A script that works on another thing (a room, a purchase) does not see it. */
export async function moveOf(accountId: string, scripts: ScriptRunner): Promise<MoveState> {
  const [word, figure = '', banEnd = ''] = await scripts.run(readMove, { moves: movesKey(accountId) }, {});
  if (word === 'moved') return { word, target: figure };
  if (word !== 'stays') return { word };
  return { word, hasRecord: figure === '1', ban: banEnd === '' ? undefined : banEndOf(banEnd) };
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
  throw refuse('store_unavailable', { message: 'The account is moving into another one: try again.' });
}
