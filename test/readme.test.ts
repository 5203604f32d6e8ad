import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { settingNames } from '../src/config.ts';
import { start } from './harness.ts';

const root = new URL('..', import.meta.url).pathname;
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const example = readFileSync(join(root, '.env.example'), 'utf8');

describe('settings', () => {
  test('each stands in the README and in .env.example, and no others do', () => {
    const table = readme.slice(readme.indexOf('## Settings'), readme.indexOf('## What is promised'));
    const inReadme = [...table.matchAll(/^\| (`[A-Z_`, ]+`) \|/gm)].flatMap(([, cell]) => [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name));
    const inExample = [...example.matchAll(/^(?:# )?([A-Z_]+)=/gm)].map(([, name]) => name);
    expect(inReadme.sort()).toEqual([...settingNames].sort());
    expect(inExample.sort()).toEqual([...settingNames].sort());
  });
});

test('every folder and file that the README names is there', () => {
  const tree = readme.slice(readme.indexOf('## The house'), readme.indexOf('### Add an endpoint'));
  for (const [, name] of tree.matchAll(/^ {2}(\w+(?:\.ts|\/)) /gm)) expect([name, existsSync(join(root, 'src', name!))]).toEqual([name, true]);
});

const curl = ((): boolean => {
  try {
    execFileSync('curl', ['--version']);
    return true;
  } catch {
    return false;
  }
})();

// A machine with nothing but Node and npm has no curl to run it with.
test.skipIf(!curl)('the tour works as pasted: every answer is a success', async () => {
  const tour = /```sh\n(base=[\s\S]*?)```/.exec(readme)![1]!;
  await using service = await start();
  const folder = mkdtempSync(join(tmpdir(), 'coinop-tour-'));
  try {
    const script = tour.replace('http://127.0.0.1:3000', service.url).replaceAll(/^(curl .*)$/gm, '$1; echo');
    const { stdout } = await promisify(execFile)('bash', ['-eu', '-c', script], { cwd: folder });
    const answers = stdout.trim().split('\n').map((line) => JSON.parse(line) as { ok: boolean; [field: string]: unknown });
    expect(answers).toHaveLength(tour.match(/^curl /gm)!.length);
    expect(answers.filter(({ ok }) => !ok)).toEqual([]);
    expect(answers[2]).toEqual({ ok: true, balanceAfterCoins: 100, replayed: true, balanceCoins: 100 });
    expect(answers[4]).toEqual({ ok: true, balanceCoins: 70 });
    expect(answers.filter(({ authenticated }) => authenticated === true)).toHaveLength(1);
    expect(answers.filter(({ state }) => state === 'trial')).toHaveLength(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
