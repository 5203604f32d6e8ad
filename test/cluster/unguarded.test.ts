import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type * as scriptText from '../../src/redis/script-text.ts';
import { renderScript } from '../../src/redis/script-text.ts';
import { copyUnguarded } from './unguarded.ts';

test('the copy without the guard renders scripts that count every slot as served, and is the service otherwise', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-unguarded-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const main = copyUnguarded(folder);
  const copy = (await import(main.replace('main.ts', 'redis/script-text.ts'))) as typeof scriptText;
  const parts = {
    keys: ['account'],
    args: [],
    shared: [],
    homeKey: 0,
    callerKey: undefined,
    library: '',
    body: 'return 1',
    readOnly: false,
    durable: false,
  };
  const form = { cluster: true };
  const guard = /local function is_here\(key\)\n[\s\S]*?\nend\n/;
  const guarded = renderScript('script', parts, form).text;
  expect(guarded).toMatch(guard);
  expect(copy.renderScript('script', parts, form).text).toBe(guarded.replace(guard, 'local function is_here() return true end\n'));
});
