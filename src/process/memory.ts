import { readFileSync } from 'node:fs';

/** Bytes of memory that another process of this machine or container could take. Undefined if Linux does not report this number. */
export function availableMemory(): number | undefined {
  const ofMachine = kilobytesOf(read('/proc/meminfo'), 'MemAvailable');
  const ofContainer = leftOfGroup();
  const known = [ofMachine, ofContainer].filter((bytes) => bytes !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** Bytes of memory of this machine, or of the container's limit if the limit is lower. Undefined if Linux does not report this number. */
export function totalMemory(): number | undefined {
  const ofMachine = kilobytesOf(read('/proc/meminfo'), 'MemTotal');
  const limit = Number(read('/sys/fs/cgroup/memory.max'));
  const known = [ofMachine, limit > 0 ? limit : undefined].filter((bytes) => bytes !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/**
 * Bytes left below the container's limit (control groups version 2). The count of used memory includes the cache of files, which the kernel
 * gives up when memory is needed.
 */
function leftOfGroup(): number | undefined {
  const [most, used] = [Number(read('/sys/fs/cgroup/memory.max')), Number(read('/sys/fs/cgroup/memory.current'))];
  if (!(most > 0) || !(used > 0)) return undefined;
  const cached = Number(/^inactive_file (\d+)/m.exec(read('/sys/fs/cgroup/memory.stat') ?? '')?.[1] ?? 0);
  return most - used + cached;
}

function kilobytesOf(text: string | undefined, name: string): number | undefined {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text ?? '')?.[1];
  return found === undefined ? undefined : Number(found) * 1024;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** A number of bytes as text: `1.5 GB`. */
export function sizeText(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let [size, unit] = [bytes, 0];
  while (size >= 1000 && unit < units.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${unit === 0 || size >= 100 ? Math.round(size) : Number(size.toFixed(1))} ${units[unit]}`;
}
