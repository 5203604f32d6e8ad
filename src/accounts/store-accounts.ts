import { refuse } from '../errors.ts';
import { defineScript } from '../redis/script.ts';
import type { ScriptRunner } from '../redis/script-runner.ts';
import { standingKey } from './account-keys.ts';
import { banEndOf, type BanEnd } from './ban-end.ts';
import type { CallerScripts } from './caller-scripts.ts';
import { storeAccountIdOf } from './ids.ts';
import { runWhereItIs } from './standing-reader.ts';
import { endedSignInKey, signInLibrary } from './sign-ins.ts';
import { standingLibrary } from './standing.ts';

const readSignIn = defineScript({
  file: new URL('read-sign-in.lua', import.meta.url),
  keys: ['standing', 'ended'],
  args: [],
  answers: ['ended', 'open', 'banned', 'moving', 'moved', 'deleted'],
  library: standingLibrary,
  readOnly: true,
});

const readOwner = defineScript({
  file: new URL('read-owner.lua', import.meta.url),
  keys: ['standing'],
  args: ['signInId'],
  answers: ['open', 'banned', 'moving', 'moved', 'deleted'],
  library: [standingLibrary, signInLibrary],
  readOnly: true,
});

const endSignInScript = defineScript({
  name: 'accounts/end-sign-in',
  lua: `redis.call('SET', ended, at, 'NX') return {'ended'}`,
  keys: ['ended'],
  args: ['at'],
  answers: ['ended'],
  durable: true,
});

/** Ends a sign-in for ever. Call it after the account has dropped the sign-in. */
export async function endSignIn(signInId: string, at: number, scripts: ScriptRunner): Promise<void> {
  await scripts.run(endSignInScript, { ended: endedSignInKey(signInId) }, { at });
}

/** The account of a provider's user. It may not exist yet. */
export interface StoreAccount {
  readonly accountId: string;
  /** The id of the sign-in: the id of this account, or of an account that moved into it. */
  readonly signInId: string;
  /** Number of the user's sign-ins that ended before this one. */
  readonly ordinal: number;
  readonly state: { readonly word: 'open' } | { readonly word: 'banned'; readonly ban: BanEnd };
}

interface Home {
  readonly id: string;
  readonly ordinal: number;
  readonly word: 'open' | 'banned' | 'moving' | 'moved' | 'over';
  readonly detail: string;
}

/** The most sign-ins and moves that one search follows. A search needs more only if sign-ins or accounts change all the time. */
const MOST_TRIES = 20;

/**
 * Finds the account of a provider's user, which is the account of the user's first sign-in that has not ended. A sign-in ends for ever,
 * when its account is deleted or drops the sign-in, so all ended sign-ins come before all others.
 * @throws Refusal `store_unavailable` if an account is moving for longer than a request waits
 */
export async function storeAccountOf(
  provider: string,
  subject: string,
  scripts: CallerScripts,
  now: () => number = Date.now,
): Promise<StoreAccount> {
  let least = 0;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const home = await firstHome((ordinal) => readHome(storeAccountIdOf(provider, subject, ordinal), ordinal, scripts), least);
    const { id: signInId, ordinal, word, detail } = home;
    if (word === 'open') return { accountId: signInId, signInId, ordinal, state: { word } };
    if (word === 'banned') return { accountId: signInId, signInId, ordinal, state: { word, ban: banEndOf(detail) } };
    const owner = await runWhereItIs(signInId, scripts, (id) => scripts.run(readOwner, { standing: standingKey(id) }, { signInId }));
    // The move of the sign-in was taken back meanwhile.
    if (owner.accountId === signInId) continue;
    const [has, banEnd] = owner.figures;
    // The account was deleted, so the accounts that moved into it will be deleted too.
    if (owner.word === 'deleted') least = ordinal + 1;
    // The process that removed the sign-in died before it ended the sign-in.
    else if (has !== '1') await endSignIn(signInId, now(), scripts);
    else {
      const state = owner.word === 'banned' ? { word: owner.word, ban: banEndOf(banEnd!) } : { word: 'open' as const };
      return { accountId: owner.accountId, signInId, ordinal, state };
    }
  }
  throw refuse('store_unavailable', { retryAfterMs: 1000 });
}

async function readHome(id: string, ordinal: number, scripts: CallerScripts): Promise<Home> {
  const keys = { standing: standingKey(id), ended: endedSignInKey(id) };
  const [word, detail = ''] = await scripts.run(readSignIn, keys, {});
  return { id, ordinal, word: word === 'ended' || word === 'deleted' ? 'over' : word, detail };
}

/** Finds the first sign-in from `least` on that is not over, with steps that double and then halve. */
async function firstHome(find: (ordinal: number) => Promise<Home>, least: number): Promise<Home> {
  let [over, found] = [least - 1, await find(least)];
  for (let step = 1; found.word === 'over'; step *= 2) {
    over = found.ordinal;
    found = await find(over + step);
  }
  while (found.ordinal > over + 1) {
    const middle = await find(Math.floor((over + found.ordinal) / 2));
    if (middle.word === 'over') over = middle.ordinal;
    else found = middle;
  }
  return found;
}
