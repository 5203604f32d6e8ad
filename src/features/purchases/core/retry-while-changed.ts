import { setTimeout as pause } from 'node:timers/promises';
import { refuse } from '../../../errors.ts';

/** The most attempts of a call. An attempt fails if another call changed the purchase meanwhile. */
const TRIES = 30;

/**
 * The pause before an attempt is random. The longest possible pause grows by this many milliseconds from attempt to attempt, so that even
 * hundreds of calls for one purchase all succeed.
 */
const PAUSE_GROWS_MS = 20;

/**
 * Repeats `act` until it gives an answer. `act` resolves with undefined if another call has changed the purchase meanwhile.
 * @throws Refusal `store_unavailable` after TRIES attempts
 */
export async function retryWhileChanged<Answer>(act: () => Promise<Answer | undefined>): Promise<Answer> {
  for (let tries = 0; tries < TRIES; tries++) {
    const answer = await act();
    if (answer !== undefined) return answer;
    await pause(Math.random() * tries * PAUSE_GROWS_MS);
  }
  throw refuse('store_unavailable', { message: 'Other calls keep changing the purchase. Try again.' });
}
