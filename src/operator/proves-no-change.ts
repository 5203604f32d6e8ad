import { Refusal } from '../errors.ts';
import { redisFailure } from '../redis/script-runner.ts';

/** Whether an error proves that nothing was changed: it is a refusal, or Redis refused the script before it ran. */
export function provesNoChange(error: unknown): boolean {
  return error instanceof Refusal ? error.details['outcome'] !== 'unknown' : redisFailure(error) === 'not_applied';
}
