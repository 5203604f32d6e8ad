import { Refusal } from '../errors.ts';
import { redisFailure } from '../redis/script-runner.ts';

/** Says in a list that one account or room cannot be read. */
export const UNREADABLE = 'Its data cannot be read: npm run audit says why.';

/**
 * Whether a read of an account or a room failed because of its own data, for example because one of its keys has the wrong type. In a read
 * of several the others are then still right.
 */
export function isUnreadable(error: unknown): boolean {
  return !(error instanceof Refusal) && redisFailure(error) === undefined;
}
