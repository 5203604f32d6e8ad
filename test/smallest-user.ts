import { ruleOf } from '../src/redis/user-rights.ts';
import type { RedisUse } from '../src/redis/redis-connections.ts';
import { neededRights } from '../src/serving/needed-rights.ts';

/** Rules of `ACL SETUSER` for a user who may do what coinop needs, and nothing else. */
export function smallestRules(use: RedisUse): string[] {
  const { commands, optionalCommands, keys, channels } = neededRights(use);
  return [
    ...['reset', 'on'],
    ...Object.keys(keys).map((pattern) => `~${pattern}`),
    ...Object.keys(channels).map((pattern) => `&${pattern}`),
    ...[...commands, ...optionalCommands].map((command) => `+${ruleOf(command)}`),
  ];
}

/** The user as whom the services of all test files use the Redis that they share. */
export const SMALLEST_USER = { name: 'smallest', password: 'secret' };
