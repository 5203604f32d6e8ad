import { readdirSync, readFileSync } from 'node:fs';

/**
 * CPU time that a process has used, in µs, over all its threads. The scheduler's own account in /proc/<pid>/task counts
 * nanoseconds; where a kernel was built without it, /proc/<pid>/stat counts in steps of 10 ms.
 */
export function processCpu(pid: number): number {
  try {
    let nanoseconds = 0;
    for (const thread of readdirSync(`/proc/${pid}/task`)) nanoseconds += threadCpu(`/proc/${pid}/task/${thread}/schedstat`);
    if (nanoseconds > 0) return nanoseconds / 1000;
  } catch {
    // No such account, or a thread that ended while they were counted.
  }
  // The second field is the program's name, which may hold blanks and brackets.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROSECONDS;
}

function threadCpu(path: string): number {
  return Number(readFileSync(path, 'utf8').split(' ')[0]);
}

/** USER_HZ is 100 on every Linux that people have. */
const TICK_MICROSECONDS = 10_000;

/** How often a process was taken off its core though it could have gone on (involuntary context switches of its main thread). */
export function processPreemptions(pid: number): number {
  return Number(/^nonvoluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN);
}

/** CPU time of a process's main thread alone, in µs; NaN where the scheduler keeps no account. */
export function mainThreadCpu(pid: number): number {
  try {
    return threadCpu(`/proc/${pid}/task/${pid}/schedstat`) / 1000;
  } catch {
    return Number.NaN;
  }
}

/** Resident memory of a process, in bytes. */
export function processMemory(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;
}
