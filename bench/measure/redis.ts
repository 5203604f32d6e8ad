import type { Redis } from 'ioredis';

/** CPU time of the thread that runs commands, in µs; what a background rewrite of the append-only file costs is not in it. */
export async function redisMainThreadCpu(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  return 1e6 * (figure(info, 'used_cpu_user_main_thread') + figure(info, 'used_cpu_sys_main_thread'));
}

/** Bytes that Redis's allocator was asked for, for its data and itself. */
export async function redisUsedMemory(redis: Redis): Promise<number> {
  return figure(await redis.info('memory'), 'used_memory');
}

function figure(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? Number.NaN);
}
