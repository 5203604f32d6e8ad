import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { freshId, request } from '../../harness.ts';
import { startChild, type Child } from '../../realtime/child.ts';
import { runCommand } from '../../run-command.ts';

const services: Child[] = [];
let folder: string;
let dataDir: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coinop-deleted-'));
  dataDir = join(folder, 'data');
});
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.stop('SIGKILL')));
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

async function launch(): Promise<Child> {
  const service = await startChild({ STORE: 'sandbox', DATA_DIR: dataDir });
  services.push(service);
  return service;
}

const post = ({ url }: Child, path: string, body: object) => request(url, path, { method: 'POST' }, JSON.stringify(body));

test(
  'a restore deletes the accounts again that were deleted after the backup, guests that moved in included',
  { timeout: 90_000 },
  async () => {
    const [first, installId, kept, subject] = [await launch(), freshId(), freshId(), freshId('subject')];
    for (const each of [installId, kept]) await post(first, '/v1/coins/credit', { installId: each, coins: 5, key: 'k1' });
    await post(first, '/v1/highscores/pebble-drop', { installId, score: 3, name: 'Ada' });
    const { purchaseToken } = (await post(first, '/sandbox/issue', { kind: 'subscription' })).body;
    await post(first, '/v1/subscription/purchase', { installId, purchaseToken });
    const tokenOf = async (service: Child) => (await post(service, '/sandbox/issue', { kind: 'id_token', subject })).body.token;
    await post(first, '/v1/account/store-provision', { token: await tokenOf(first), installId });
    const file = join(folder, 'backup.tar');
    const taken = await runCommand('backup.ts', ['--to', file], { DATA_DIR: dataDir });
    expect([taken.code, taken.error]).toEqual([0, '']);
    const token = await tokenOf(first);
    const { confirm } = (await post(first, '/v1/account/delete', { token })).body;
    expect((await post(first, '/v1/account/delete', { token, confirm })).body.deleted).toBe(true);
    await first.stop();

    const { code, error } = await runCommand('restore.ts', ['--from', file, '--replace'], { DATA_DIR: dataDir });
    expect([code, error]).toEqual([0, '']);
    const second = await launch();
    expect((await post(second, '/v1/coins/credit', { installId, coins: 5, key: 'k2' })).body.error.code).toBe('account_deleted');
    expect((await post(second, '/v1/coins/credit', { installId: kept, coins: 5, key: 'k1' })).body.replayed).toBe(true);
    expect((await post(second, '/v1/account/store-provision', { token: await tokenOf(second) })).body.created).toBe(true);
    await vi.waitUntil(async () => (await request(second.url, '/v1/highscores/pebble-drop', {})).body.top.length === 0, {
      timeout: 10_000,
    });
    await second.stop();
    const audit = await runCommand('audit.ts', [], { DATA_DIR: dataDir });
    expect([audit.code, audit.out]).toEqual([0, expect.stringContaining('tombstones')]);
  },
);
