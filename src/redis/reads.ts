import { pairsOf } from './pairs.ts';
import { defineScript } from './script.ts';
import type { ScriptRunner } from './script-runner.ts';

/** Plain reads. They are scripts, so that they share batches, find the primary of their key, and read only data that the process knows. */

/** A word in front of the list, without `unpack`, which takes some thousand words at most. */
const listed = (word: string, command: string): string => `local words = ${command}
  table.insert(words, 1, '${word}')
  return words`;

const hashScript = defineScript({
  name: 'redis/read-hash',
  lua: listed('hash', `redis.call('HGETALL', hash)`),
  keys: ['hash'],
  answers: ['hash'],
  readOnly: true,
});

const setScript = defineScript({
  name: 'redis/read-set',
  lua: listed('set', `redis.call('SMEMBERS', set)`),
  keys: ['set'],
  answers: ['set'],
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

/** All fields and values of a hash. */
export async function readHash(scripts: ScriptRunner, hash: string): Promise<[field: string, value: string][]> {
  const [, ...words] = await scripts.run(hashScript, { hash }, {});
  return pairsOf(words);
}

/** All members of a set. */
export async function readSet(scripts: ScriptRunner, set: string): Promise<string[]> {
  const [, ...members] = await scripts.run(setScript, { set }, {});
  return members;
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
