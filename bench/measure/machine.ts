import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { redisServerPath } from '../../src/process/redis-server.ts';
import type { Machine } from '../result.ts';

/** The machine and the versions that the figures depend on. */
export function machine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${distribution()}, Linux ${release().split('-')[0]}`,
    node: process.version,
    redis: redisVersion(),
  };
}

/** Unknown where Redis runs elsewhere (--url). */
function redisVersion(): string {
  try {
    return /v=(\S+)/.exec(spawnSync(redisServerPath(), ['--version'], { encoding: 'utf8' }).stdout)![1]!;
  } catch {
    return 'unknown';
  }
}

function distribution(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'Linux';
  } catch {
    return 'Linux';
  }
}
