import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../environment.ts';

const home = fileURLToPath(new URL('../../.cache/operations', import.meta.url));

/** The path of a program that `scripts/operations.mjs` has unpacked. */
export function programPath(name: 'prometheus' | 'promtool' | 'nginx' | 'caddy'): string {
  const path = `${home}/${name}`;
  if (!existsSync(path)) throw new Error(`${path} is missing: npm run prove:operations unpacks it`);
  return path;
}

export interface Program {
  readonly child: ChildProcess;
  output(): string;
  stop(): Promise<void>;
}

/** Starts a program and waits until it listens on a port. */
export async function startProgram(
  name: Parameters<typeof programPath>[0],
  args: readonly string[],
  port: number,
  env: Record<string, string> = {},
): Promise<Program> {
  const child = spawn(programPath(name), args, { env: childEnvironment(env), stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => void (output = (output + text.toString()).slice(-100_000)));
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const killing = setTimeout(() => child.kill('SIGKILL'), 5000);
    await exited;
    clearTimeout(killing);
  };
  for (const giveUpAt = performance.now() + 20_000; !(await listens(port)); await pause(50)) {
    if (child.exitCode !== null) throw new Error(`${name} ended: ${output}`);
    if (performance.now() < giveUpAt) continue;
    await stop();
    throw new Error(`${name} does not listen: ${output}`);
  }
  return { child, output: () => output, stop };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
