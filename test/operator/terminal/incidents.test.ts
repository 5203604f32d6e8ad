import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { forFile, start } from '../../harness.ts';
import { makeServerKey } from '../../server-keys.ts';
import { openToolRedis, runInShell } from './command.ts';

/** docs/operations/incidents.md: every command, in the order of the page. */

const page = readFileSync(new URL('../../../docs/operations/incidents.md', import.meta.url), 'utf8');

const { settings, folder } = await forFile(openToolRedis());
const service = await forFile(start({ redis: { url: settings.REDIS_URL } }));
const { id: keyId } = await makeServerKey(service, ['admin']);
for (const installId of ['install-0001', 'install-0002', 'install-0003'])
  await service.post('/v1/coins/credit', { installId, coins: 100, key: 'first' });
await service.post('/v1/highscores/pebble-drop', { installId: 'install-0002', score: 1e9, name: 'Rude' });
writeFileSync(join(folder, 'accounts.csv'), 'installId\ninstall-0001\ninstall-0002\n');

const balanceOf = async (installId: string): Promise<number> => (await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins;

/** The blocks of a section that run the tool, as scripts for a shell. */
function blocksOf(section: string): string[] {
  const text = page.slice(page.indexOf(`## ${section}`)).split('\n## ')[0]!;
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) =>
    block!.replaceAll(/npm run (--silent )?admin --/g, 'admin').replaceAll(/\bID\b/g, keyId),
  );
}

async function run(section: string): Promise<string> {
  let out = '';
  for (const block of blocksOf(section)) {
    const ended = await runInShell(`cd '${folder}' && ${block}`, settings);
    expect([section, block, ended.code, ended.error.includes('coinop admin:')]).toEqual([section, block, 0, false]);
    out += ended.out;
  }
  return out;
}

test('lost coins are found and given back, and a wrong grant is reverted', async () => {
  expect(await run('Coins are lost')).toContain('Granted to 2 accounts, 40 coins in sum');
  expect([await balanceOf('install-0001'), await balanceOf('install-0002')]).toEqual([170, 120]);
  expect(await run('A wrong bulk grant')).toContain('Taken back from 2 accounts, 40 coins in sum');
  expect([await balanceOf('install-0001'), await balanceOf('install-0002'), await balanceOf('install-0003')]).toEqual([150, 100, 100]);
});

test('lost data is shown', async () => {
  expect(await run('Redis lost its data')).toMatch(/^In Redis: \S+\nIn DATA_DIR: none\n$/);
});

test('a leaked key is revoked, and its changes are found', async () => {
  const out = await run('A key leaked');
  expect(out).toContain(`Revoked ${keyId}.`);
  expect(out).toContain('leaked.csv has 0 entries.');
});

test('a cheater leaves the board, and gets another name', async () => {
  expect(await run('A cheater on a board')).toContain(`${accountIdOf('install-0002')} has this name now`);
  expect((await service.get('/v1/highscores/pebble-drop')).body.top).toEqual([]);
});

test('a player who paid while the store is down gets temporary access', async () => {
  expect(await run('The app store is down')).toContain('has access until 2030-01-01 00:00 UTC.');
  expect((await service.get('/v1/entitlement?installId=install-0001')).body.state).toBe('none');
});
