import type { Redis } from 'ioredis';
import { SettingError } from '../config.ts';

/**
 * The error when a key of coinop that should have a text in coinop's format has another value, which another program has written. The
 * message is for the operator.
 */
export class ForeignValue extends SettingError {
  /** A sentence that describes the value of the key. */
  readonly problem: string;
  /** Sentences that say what the operator can do. */
  readonly mend: string;

  /** @param found the rest of a sentence that begins with the key, such as `is "abc", and not a version` */
  constructor(key: string, found: string, mend: string) {
    const problem = `${key} in Redis ${found}.`;
    super(`${problem} ${mend}`);
    this.problem = problem;
    this.mend = mend;
  }
}

/**
 * Reads a key that should have a text.
 * @param mend as of `ForeignValue`
 * @throws ForeignValue if the key has a value of another type
 */
export async function readText(redis: Redis, key: string, mend: string): Promise<string | null> {
  try {
    return await redis.get(key);
  } catch (error) {
    if (!(error as Error).message.startsWith('WRONGTYPE')) throw error;
  }
  throw new ForeignValue(key, otherType(await redis.type(key)), mend);
}

/** Words for a key of another type, for `found` of `ForeignValue`. @param type of the key in Redis */
export function otherType(type: string): string {
  return `is a ${type}, and not a text: another program has overwritten it`;
}
