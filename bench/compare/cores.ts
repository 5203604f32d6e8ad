import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Gives the services that are compared a core of their own, and this process with all that it starts from now on the others.
 * Where the scheduler places them at will, a server that shares its core with the load costs other than one beside it, and
 * that changes from one moment to the next.
 * @returns what to put before a service's command; nothing on one core, or without taskset
 */
export function shareOutCores(): readonly string[] {
  const cores = allowedCores();
  const last = cores.pop();
  if (last === undefined || cores.length === 0) return [];
  const { status } = spawnSync('taskset', ['-a', '-p', '-c', cores.join(','), String(process.pid)]);
  return status === 0 ? ['taskset', '-c', String(last)] : [];
}

/** Such as "0-3,8". */
function allowedCores(): number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
