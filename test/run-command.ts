import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from './environment.ts';

export interface EndedCommand {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  /** Standard error without the lines of progress, which appear on a busy machine. */
  readonly error: string;
}

/**
 * Runs a command of `src/commands` with only these settings.
 * @param program the file: `backup.ts`, or the path of a file in another tree
 * @param started called with the process once it runs
 */
export function runCommand(
  program: string,
  flags: readonly string[],
  settings: Record<string, string>,
  started: (child: ChildProcess) => unknown = () => {},
): Promise<EndedCommand> {
  const path = fileURLToPath(new URL(program, new URL('../src/commands/', import.meta.url)));
  const child = spawn(process.execPath, [path, ...flags], { env: childEnvironment(settings), stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, error] = ['', ''];
  child.stdout.on('data', (text: Buffer) => void (out += text.toString()));
  child.stderr.on('data', (text: Buffer) => void (error += text.toString()));
  started(child);
  return new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, out, error: error.replaceAll(/^audit: .*\n/gm, '') }));
  });
}
