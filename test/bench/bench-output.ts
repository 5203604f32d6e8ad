import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunResult } from '../../bench/result.ts';
import { childEnvironment } from '../environment.ts';

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url));

/** Runs the bench as a user does, with a temporary folder for all that it writes. */
export function benchOutput() {
  const out = mkdtempSync(join(tmpdir(), 'coinop-bench-test-'));
  return {
    /** The folder for the results and the temporary files. */
    out,
    /** Runs the bench. @param interruptAt sends SIGINT when this text appears on standard error */
    bench: (args: string[], interruptAt?: string) =>
      new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
        const child = spawn(process.execPath, [main, ...args, '--out', out], {
          env: childEnvironment({ TMPDIR: out }),
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        let [stdout, stderr] = ['', ''];
        child.stdout.on('data', (text: Buffer) => (stdout += text.toString()));
        child.stderr.on('data', (text: Buffer) => {
          stderr += text.toString();
          if (interruptAt !== undefined && stderr.includes(interruptAt)) child.kill('SIGINT');
        });
        child.once('close', (code) => resolve({ code, stdout, stderr }));
      }),
    /** The results of the last run. */
    resultsOf: (file = 'latest.json') => JSON.parse(readFileSync(join(out, file), 'utf8')) as RunResult,
    close: () => rmSync(out, { recursive: true, force: true }),
  };
}
