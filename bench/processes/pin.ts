import { spawnSync } from 'node:child_process';
import { allowedCores } from '../compare/cores.ts';

/**
 * Moves running processes with all their threads: those under test to the last core, the load to the others. The load can then
 * neither take the server's time nor lose its own to the server.
 * @returns false with one core or without taskset: nothing was moved
 */
export function pinApart(tested: readonly number[], load: readonly number[]): boolean {
  const cores = allowedCores();
  const last = cores.pop();
  if (last === undefined || cores.length === 0) return false;
  return tested.every((pid) => pin(pid, [last])) && load.every((pid) => pin(pid, cores));
}

function pin(pid: number, cores: readonly number[]): boolean {
  return spawnSync('taskset', ['-a', '-p', '-c', cores.join(','), String(pid)]).status === 0;
}
