import { setTimeout as pause } from 'node:timers/promises';
import { refuse } from '../../../errors.ts';

/** The most attempts of a call. An attempt fails if another call changed the purchase meanwhile. */
const TRIES = 30;

/**
 * How much the longest pause before an attempt grows from attempt to attempt, in milliseconds. Pauses are random, so that hundreds of calls
 * for one purchase all succeed.
 */
const PAUSE_GROWS_MS = 20;

/**
 * Repeats `act` until it gives an answer. `act` gives none if another call has changed the purchase meanwhile.
 * @throws Refusal `store_unavailable` after TRIES attempts
 */
export async function retryWhileChanged<Answer>(act: () => Promise<Answer | undefined>): Promise<Answer> {
  for (let tries = 0; tries < TRIES; tries++) {
    const answer = await act();
    if (answer !== undefined) return answer;
    await pause(Math.random() * tries * PAUSE_GROWS_MS);
  }
  throw refuse('store_unavailable', { message: 'Other calls keep changing the purchase: try again.' });
}
