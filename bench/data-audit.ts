import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../src/commands/audit.ts', import.meta.url));

const MAX_FINDINGS = 5;

/**
 * Audits all data of a private Redis with the command of `npm run audit`, at full speed. It also checks the data that `auditLedgers` does
 * not read: key buckets, boards, queues.
 * @param dataDir of a service that runs
 * @returns a sentence for each of the first findings, or the reason why the audit could not end
 */
export async function auditData(dataDir: string, signal: AbortSignal): Promise<string[]> {
  const { PATH = '' } = process.env;
  const flags = ['--full-speed', '--list', String(MAX_FINDINGS)];
  const child = spawn(process.execPath, [COMMAND, ...flags], { env: { PATH, DATA_DIR: dataDir }, stdio: ['ignore', 'pipe', 'pipe'] });
  const stop = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  let [out, error] = ['', ''];
  child.stdout.on('data', (text: Buffer) => (out += text.toString()));
  child.stderr.on('data', (text: Buffer) => (error = text.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  signal.removeEventListener('abort', stop);
  if (code === 0 || signal.aborted) return [];
  return code === 1 ? out.split('\n').filter((line) => /\(\w+\)$|^Drift/.test(line)) : [error.trim().split('\n').at(-1)!];
}
