import { Refusal } from '../errors.ts';
import { redisFailure } from '../redis/script-runner.ts';

/** Whether the error is a refusal, or an error with which Redis refuses a script before it runs. */
export function provesNoChange(error: unknown): boolean {
  return error instanceof Refusal ? error.details['outcome'] !== 'unknown' : redisFailure(error) === 'not_applied';
}
