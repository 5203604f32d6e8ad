import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { AuditResult } from '../consistency/background.ts';

/** The share of its time, in percent, for which Redis (each primary of a Cluster) works for a background audit. */
const SHARE_PERCENT = 2;

/**
 * Environment variables for Node and OpenSSL that are passed to the audit. Without them it might not trust the certificate of a Redis that
 * the service trusts.
 */
const PASSED_ON = ['PATH', 'NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'NODE_USE_SYSTEM_CA', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];

/**
 * Runs `npm run audit` in a separate process at the lowest priority, so that the audit delays no request and its memory is freed at its
 * end.
 * @param settings the setting REDIS_URL or DATA_DIR, which names the Redis to audit
 */
export async function auditInChild(settings: Record<string, string>, signal: AbortSignal): Promise<AuditResult> {
  const command = fileURLToPath(new URL('audit.ts', import.meta.url));
  const passedOn = Object.fromEntries(PASSED_ON.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));
  const child = spawn(process.execPath, [command, '--json', '--share', String(SHARE_PERCENT)], {
    env: { ...passedOn, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stop = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  // Keeps only the last line, which has the figures. Each finding has its own line, and there may be millions of findings.
  let lastLine = '';
  let complaint = '';
  createInterface({ input: child.stdout }).on('line', (line) => (lastLine = line));
  child.stderr.on('data', (text: Buffer) => (complaint = text.toString().trim()));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).finally(() => signal.removeEventListener('abort', stop));
  signal.throwIfAborted();
  if (code !== 0 && code !== 1) throw new Error(complaint || `the audit ended with code ${code}`);
  // The last line, `],"drift":2,"isComplete":true,…}`, follows the list of findings. Without findings the whole document is one line.
  const { drift, seconds } = JSON.parse(`{"findings":[${lastLine.slice(lastLine.indexOf(']'))}`) as { drift: number; seconds: number };
  return { findings: drift, seconds };
}
