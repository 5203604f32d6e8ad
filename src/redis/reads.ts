import { pairsOf } from './reply-pairs.ts';
import { defineScript } from './script.ts';
import type { ScriptRunner } from './script-runner.ts';

/**
 * Plain reads. Reads are scripts too, so that they share batches, find the primary of their key, and read only data that the process knows.
 */

const readScript = defineScript({
  file: new URL('read.lua', import.meta.url),
  keys: ['key'],
  args: ['command', 'words'],
  answers: ['read'],
  readOnly: true,
});

/**
 * Answers set(next cursor, member …), zset(next cursor, member, score …), hash(next cursor, field, value …), none(0). The cursor of a sorted
 * set is a rank: Redis's user needs no right for ZSCAN.
 */
const partScript = defineScript({
  name: 'redis/read-part',
  lua: `local kind = redis.call('TYPE', key).ok
    if kind == 'none' then return {'none', '0'} end
    if kind == 'zset' then
      local words = redis.call('ZRANGE', key, cursor, cursor + count - 1, 'WITHSCORES')
      return {kind, #words < 2 * count and '0' or string.format('%d', cursor + count), unpack(words)}
    end
    local part = redis.call(kind == 'set' and 'SSCAN' or 'HSCAN', key, cursor, 'COUNT', count)
    return {kind, part[1], unpack(part[2])}`,
  keys: ['key'],
  args: ['cursor', 'count'],
  answers: ['set', 'zset', 'hash', 'none'],
  readOnly: true,
});

/**
 * Runs a command that reads one key.
 * @param command such as HGET. Redis refuses a command that writes
 * @returns the words of the reply: a number as text, and '' for a value that is not there
 */
export async function read(scripts: ScriptRunner, command: string, key: string, ...words: (string | number)[]): Promise<string[]> {
  const [, ...found] = await scripts.run(readScript, { key }, { command, words: JSON.stringify(words.map(String)) });
  return found;
}

/** All fields and values of a hash. */
export async function readHash(scripts: ScriptRunner, hash: string): Promise<[field: string, value: string][]> {
  return pairsOf(await read(scripts, 'HGETALL', hash));
}

export interface Part {
  readonly kind: 'set' | 'zset' | 'hash' | 'none';
  /** `0` after the last part. */
  readonly cursor: string;
  /** The members of a set; member, score, member, score … of a sorted set; field, value, field, value … of a hash. */
  readonly words: readonly string[];
}

/**
 * A part of a set, a sorted set or a hash, of about `count` members. A small set or hash comes in one part. A part may be empty.
 * @param cursor `0` at first
 */
export async function readPart(scripts: ScriptRunner, key: string, cursor: string, count: number): Promise<Part> {
  const [kind, next = '0', ...words] = await scripts.run(partScript, { key }, { cursor, count });
  return { kind, cursor: next, words };
}

/** The members of a set, or the fields and values of a hash, part by part. */
export async function* partsOf(scripts: ScriptRunner, key: string, count: number): AsyncGenerator<Part> {
  for (let cursor: string | undefined; cursor !== '0';) {
    const part = await readPart(scripts, key, cursor ?? '0', count);
    yield part;
    ({ cursor } = part);
  }
}
