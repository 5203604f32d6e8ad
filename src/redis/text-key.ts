import type { Redis } from 'ioredis';
import { SettingError } from '../config.ts';

/** A key under which coinop keeps a text has another value, which another program has written. The message is for the operator. */
export class ForeignValue extends SettingError {
  /** A sentence. */
  readonly problem: string;
  /** Sentences that say what to do. */
  readonly mend: string;

  /** @param found such as `is "abc", and not a version` */
  constructor(key: string, found: string, mend: string) {
    const problem = `${key} in Redis ${found}.`;
    super(`${problem} ${mend}`);
    this.problem = problem;
    this.mend = mend;
  }
}

/**
 * Reads a key under which coinop keeps a text.
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

/** As `found` of `ForeignValue`. @param type of Redis */
export function otherType(type: string): string {
  return `is a ${type}, and not a text: another program has overwritten it`;
}
