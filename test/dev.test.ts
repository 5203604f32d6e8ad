import { spawn, type ChildProcess } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { freshId, request } from './harness.ts';
import { Watcher } from './realtime/watcher.ts';
import { childEnvironment } from './environment.ts';
import { PATIENT } from './patience.ts';

/** The tests change source files, so `npm run dev` runs in a copy of the project. */
const project = fileURLToPath(new URL('..', import.meta.url));
let folder: string;
let npm: ChildProcess;
let output = '';

const starts = (): string[] => [...output.matchAll(/^coinop listening on (\S+) /gm)].map(([, url]) => url!);

/** Waits for the start with this number and returns its address. Node ends the old process before it starts the next. */
async function started(count: number): Promise<string> {
  await vi.waitUntil(() => starts().length >= count || npm.exitCode !== null, PATIENT);
  if (npm.exitCode !== null) throw new Error(output);
  return starts()[count - 1]!;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'coinop-dev-'));
  for (const name of ['src', 'package.json']) cpSync(join(project, name), join(folder, name), { recursive: true });
  for (const name of ['node_modules', '.cache']) symlinkSync(join(project, name), join(folder, name));
  npm = spawn('npm', ['run', 'dev', '--ignore-scripts'], {
    cwd: folder,
    env: childEnvironment({ HOME: folder, PORT: '0', DATA_DIR: join(folder, 'data') }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [npm.stdout!, npm.stderr!]) stream.on('data', (text: Buffer) => void (output += text.toString()));
  await started(1);
});
afterAll(async () => {
  const ended = new Promise((resolve) => npm.once('exit', resolve));
  npm.kill('SIGTERM');
  await ended;
  // npm exits before the service does, and the service's redis-server still writes into the folder.
  await vi.waitUntil(() => !readFileSync('/proc/net/unix', 'utf8').includes(join(folder, 'data/redis.sock')), PATIENT);
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

const sample = 'src/features/catalogue/sample.json';
const renameFirstApp = (): void => {
  const text = readFileSync(join(folder, sample), 'utf8');
  writeFileSync(join(folder, sample), text.replace(/"name": "[^"]*"/, '"name": "Renamed"'));
};

describe('npm run dev', () => {
  test.each([
    ['a script', () => appendFileSync(join(folder, 'src/features/coins/apply.lua'), '\n-- changed\n')],
    ['a module', () => appendFileSync(join(folder, 'src/errors.ts'), '\n// changed\n')],
    ['the sample catalogue', renameFirstApp],
  ])('restarts the service on the same data when %s changes, also while a watcher is connected', async (_, change) => {
    const count = starts().length;
    const [before, installId] = [starts().at(-1)!, freshId()];
    const post = (path: string, fields: object) => request(before, path, { method: 'POST' }, JSON.stringify({ installId, ...fields }));
    const { body } = await post('/v1/rooms', {});
    const watcher = await Watcher.open(before, `/v1/rooms/${body.room.code}/live`);
    await post('/v1/coins/credit', { coins: 7, key: 'kept' });
    change();
    const after = await started(count + 1);
    expect((await request(after, `/v1/balance?installId=${installId}`, {})).body).toEqual({ ok: true, balanceCoins: 7 });
    watcher.close();
  });

  test('starts the service again after a syntax error is repaired', async () => {
    const count = starts().length;
    const main = readFileSync(join(folder, 'src/main.ts'), 'utf8');
    writeFileSync(join(folder, 'src/main.ts'), `${main}\n}`);
    await vi.waitUntil(() => output.includes('SyntaxError'), PATIENT);
    writeFileSync(join(folder, 'src/main.ts'), main);
    await started(count + 1);
  });
});
