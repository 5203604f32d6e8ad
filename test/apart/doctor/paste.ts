import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { redisServerPath } from '../../../src/process/redis-server.ts';

/** Runs a remedy's line as if it were pasted into a shell. @param input typed after that */
export function paste(line: string, input = ''): string {
  const folderOfClient = dirname(redisServerPath());
  const client = ['redis-cli', 'valkey-cli'].map((name) => join(folderOfClient, name)).find(existsSync);
  return execFileSync('bash', ['--norc', '-c', `redis-cli() { "${client}" -e "$@"; }\n${line}`], { input, encoding: 'utf8' });
}
