import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { startTcpRedis } from '../../realtime/child.ts';
import { childEnvironment } from '../../environment.ts';

export const adminPath = fileURLToPath(new URL('../../../src/commands/admin.ts', import.meta.url));

export interface AdminEnded {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** A Redis for the tool, with a connection of the test. */
export interface ToolRedis extends AsyncDisposable {
  readonly settings: { REDIS_URL: string };
  readonly redis: Redis;
  readonly folder: string;
}

export async function openToolRedis(): Promise<ToolRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-admin-'));
  const { url, stop } = await startTcpRedis(folder);
  const redis = new Redis(url);
  return {
    settings: { REDIS_URL: url },
    redis,
    folder,
    async [Symbol.asyncDispose]() {
      redis.disconnect();
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs the operator's tool without a terminal, with only these settings. */
export function runAdmin(words: readonly string[], settings: Record<string, string>): Promise<AdminEnded> {
  return ended(process.execPath, [adminPath, ...words], settings);
}

/** Like `runAdmin`, but in a shell where `admin` is the tool, for pipes and redirections. */
export function runInShell(line: string, settings: Record<string, string>): Promise<AdminEnded> {
  return ended('bash', ['-c', `set -o pipefail; admin() { '${process.execPath}' '${adminPath}' "$@"; }; ${line}`], settings);
}

/** Whether a terminal can be made here: a Debian root without /dev/pts cannot have one. */
export const hasTerminals = spawnSync('script', ['-qec', 'true', '/dev/null'], { stdio: 'ignore' }).status === 0;

/**
 * Like `runAdmin`, but in a terminal, which util-linux's `script` makes.
 * @param typed the operator's answer to the prompt
 */
export function runAdminInTerminal(
  words: readonly string[],
  settings: Record<string, string>,
  typed: string,
  prompt = '[y/N]',
): Promise<AdminEnded> {
  const line = [process.execPath, adminPath, ...words].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  return ended('script', ['-qec', line, '/dev/null'], settings, { typed, prompt });
}

function ended(
  program: string,
  words: readonly string[],
  settings: Record<string, string>,
  answer?: { typed: string; prompt: string },
): Promise<AdminEnded> {
  const child = spawn(program, words, {
    env: childEnvironment(settings),
    stdio: [answer === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  let [out, error] = ['', ''];
  child.stdout!.on('data', (text: Buffer) => {
    out += text.toString();
    // The question is in the terminal's output. Input that is typed before the question would be lost.
    if (answer !== undefined && out.includes(answer.prompt)) child.stdin!.end(answer.typed);
  });
  child.stderr!.on('data', (text: Buffer) => void (error += text.toString()));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, error })));
}

/** Makes a key with the tool. */
export async function makeKey(settings: Record<string, string>, ...flags: string[]): Promise<{ id: string; token: string }> {
  const { code, out, error } = await runAdmin(['keys', 'create', '--name', 'game server', '--yes', '--json', ...flags], settings);
  if (code !== 0) throw new Error(error);
  return JSON.parse(out) as { id: string; token: string };
}
