import { readdirSync, readFileSync } from 'node:fs';

/**
 * CPU time of all threads of a process, in µs. /proc/<pid>/task/<tid>/schedstat counts nanoseconds; on a kernel that was
 * built without it, /proc/<pid>/stat counts in steps of 10 ms.
 */
export function processCpu(pid: number): number {
  try {
    let nanoseconds = 0;
    for (const thread of readdirSync(`/proc/${pid}/task`)) nanoseconds += threadCpu(`/proc/${pid}/task/${thread}/schedstat`);
    if (nanoseconds > 0) return nanoseconds / 1000;
  } catch {
    // The kernel has no schedstat, or a thread ended during the loop.
  }
  // The second field is the program's name, which may contain spaces and brackets.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROSECONDS;
}

function threadCpu(path: string): number {
  return Number(readFileSync(path, 'utf8').split(' ')[0]);
}

/** USER_HZ is 100 on all common Linux systems. */
const TICK_MICROSECONDS = 10_000;

/** Involuntary context switches of the main thread: how often the kernel preempted it while it still had work. */
export function processPreemptions(pid: number): number {
  return Number(/^nonvoluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN);
}

/** CPU time of the main thread alone, in µs; NaN on a kernel without schedstat. */
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
