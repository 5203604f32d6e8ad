import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Reserves one core for the compared services and moves this process, with all children it starts from now on, to the other
 * cores. Without it the scheduler changes which server shares a core with the load, and with it the server's cost.
 * @returns the prefix of a service's command; empty with one core or without taskset
 */
export function reserveCore(): readonly string[] {
  const cores = allowedCores();
  const last = cores.pop();
  if (last === undefined || cores.length === 0) return [];
  const { status } = spawnSync('taskset', ['-a', '-p', '-c', cores.join(','), String(process.pid)]);
  return status === 0 ? ['taskset', '-c', String(last)] : [];
}

/** Parses a list such as "0-3,8". */
export function allowedCores(): number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
