import type { Redis } from 'ioredis';

/** CPU time of the thread that runs commands, in µs. It excludes background rewrites of the append-only file. */
export async function redisMainThreadCpu(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  return 1e6 * (figure(info, 'used_cpu_user_main_thread') + figure(info, 'used_cpu_sys_main_thread'));
}

/** used_memory in bytes, without the buffers of clients and of the append-only file. */
export async function redisUsedMemory(redis: Redis): Promise<number> {
  const info = await redis.info('memory');
  return figure(info, 'used_memory') - figure(info, 'mem_clients_normal') - figure(info, 'mem_aof_buffer');
}

/** EVALSHA commands since Redis started. Each brings one batch of script calls. */
export async function scriptBatches(redis: Redis): Promise<number> {
  return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(await redis.info('commandstats'))?.[1] ?? 0);
}

/** Calls of a command so far, by clients and by scripts, and the time that they took. */
export async function commandUse(redis: Redis, command: string): Promise<{ calls: number; microseconds: number }> {
  const found = new RegExp(`^cmdstat_${command}:calls=(\\d+),usec=(\\d+)`, 'm').exec(await redis.info('commandstats'));
  return { calls: Number(found?.[1] ?? 0), microseconds: Number(found?.[2] ?? 0) };
}

function figure(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? Number.NaN);
}
