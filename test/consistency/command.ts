import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../environment.ts';

const command = fileURLToPath(new URL('../../src/commands/audit.ts', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  /** Standard error without the lines of progress, which appear on a busy machine. */
  readonly error: string;
  readonly progress: string[];
}

/**
 * Runs the command of `npm run audit` with only these settings.
 * @param interrupt called once, after the first line of progress
 */
export function runAuditCommand(
  flags: string[],
  settings: Record<string, string>,
  interrupt?: (kill: (signal: NodeJS.Signals) => void) => unknown,
): Promise<Ended> {
  const child = spawn(process.execPath, [command, ...flags], { env: childEnvironment(settings), stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, error] = ['', ''];
  child.stdout.on('data', (text: Buffer) => void (out += text.toString()));
  child.stderr.on('data', (text: Buffer) => {
    if (error === '') interrupt?.((signal) => child.kill(signal));
    error += text.toString();
  });
  return new Promise((resolve) => {
    child.once('close', (code) => {
      const progress = error.match(/^audit: .*\n/gm) ?? [];
      resolve({ code, out, error: error.replaceAll(/^audit: .*\n/gm, ''), progress });
    });
  });
}
