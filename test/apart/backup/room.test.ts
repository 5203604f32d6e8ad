import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, expect, test, vi } from 'vitest';
import { takeBackup } from '../../../src/apart/backup/take.ts';
import { testConfig } from '../../environment.ts';
import { freshId } from '../../harness.ts';
import { startChild } from '../../realtime/child.ts';
import { credit } from '../../commands/place.ts';

/** The simulated free disk space and memory of the machine, in bytes. */
const machine = vi.hoisted(() => ({ room: Infinity, memory: Infinity }));
vi.mock('node:fs', async (original) => {
  const real = await original<typeof import('node:fs')>();
  return { ...real, statfsSync: () => ({ bavail: machine.room, bsize: 1 }) };
});
vi.mock('../../../src/process/memory.ts', async (original) => ({
  ...(await original<typeof import('../../../src/process/memory.ts')>()),
  availableMemory: () => machine.memory,
}));

const folder = mkdtempSync(join(tmpdir(), 'coinop-room-'));
const service = await startChild({ STORE: 'off', DATA_DIR: join(folder, 'data') });
await credit(service, freshId(), 'k');
let tries = 0;
afterAll(async () => {
  await service.stop('SIGKILL');
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

/** A process locks the folder of its backup until it ends. So each backup of this test has its own folder. */
async function backup(isAudited = true) {
  const own = join(folder, `try-${++tries}`);
  mkdirSync(own);
  const taken = takeBackup({
    config: testConfig({ DATA_DIR: join(folder, 'data') }),
    to: own,
    withSessionKeys: true,
    isAudited,
    log: pino({ level: 'silent' }),
    signal: new AbortController().signal,
  });
  await taken.catch(() => expect(readdirSync(own)).toEqual([]));
  return taken;
}

test('a backup that could fill the disk of the data is refused before it begins', async () => {
  machine.room = 100_000_000;
  await expect(backup()).rejects.toThrow(
    /^The backup takes up to \d.* while it is made, and 100 MB are free on the disk of the data\. The service's Redis ends on a full disk: make room,/,
  );
  machine.room = 101_000_000;
  expect((await backup()).manifest.verified?.accounts).toBe(1);
});

test('a backup is refused if its audit needs more memory than is free, and works without an audit', async () => {
  [machine.room, machine.memory] = [Infinity, 500_000];
  await expect(backup()).rejects.toThrow(
    /^The audit of the copy needs 1\.\d MB of memory, and 500 KB are free\. Take the backup with --no-audit/,
  );
  expect((await backup(false)).manifest.verified).toBeNull();
});
