import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inheritedEnvironment } from '../../environment.ts';
import type { Part, Stand } from '../../proofs/proof.ts';
import { proveReact } from './prove-react.ts';

const project = fileURLToPath(new URL('../../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { version: string };

export const parts: readonly Part[] = [
  {
    ...{ proof: 'client', name: 'package', seconds: 50, prove },
    about:
      'packs the client, installs it in an empty folder, imports it in Node, checks the types of a game and of a game server against it, and renders the hooks of React on a server and in Chromium',
  },
];

const game = `
import { coinop, type Room } from 'coinop/client';
import { playRoom } from 'coinop/client/rooms';
import { useAccount, useRoom } from 'coinop/react';

const client = coinop({ url: 'https://coinop.example', store: localStorage, fetch, WebSocket });
const result = await client.coins.debit({ coins: 5 });
if (!result.ok && result.error.code === 'insufficient_coins') result.error.balanceCoins.toFixed();
const show = (room: Room): string => room.players.map(({ name }) => name).join();
client.watchRoom('BCDFG', show, { onState: ({ status }) => status === 'live' });
// @ts-expect-error: coins are a number
await client.coins.credit({ coins: 'five' });
const { account, connection } = useAccount(client);
if (connection.status === 'live') account?.balanceCoins.toFixed();
const { room, me } = useRoom<{ state: { turn: string } }>(client, undefined);
if (room?.state.turn === me?.id) me?.name.trim();
const played = playRoom<{ data: { x: number } }>(client, 'BCDFG');
// @ts-expect-error: x is a number
await played.set({ x: '3' });
`;

const gameServer = `
import { coinopServer } from 'coinop/client/server';

const server = coinopServer({ url: 'https://coinop.example', key: 'coinop_sk_…' });
const grant = await server.grant({ accountId: 'BQ5v1mHk2nYtZ8cXw0aLpR', coins: 5, key: 'match-17' });
if (!grant.ok && grant.error.code === 'balance_limit') grant.error.balanceCoins.toFixed();
const served = server.playRoom<{ message: string }>('BCDFG');
served.on('message', ({ from, data }) => void served.send(data.trim(), [from]));
`;

const key = `coinop_sk_abcd1234_${'x'.repeat(32)}`;

async function prove(stand: Stand): Promise<void> {
  const { folder, figures } = stand;
  const run = (command: string, ...args: string[]): string =>
    execFileSync(command, args, {
      cwd: folder,
      encoding: 'utf8',
      env: inheritedEnvironment({ PATH: `${project}node_modules/.bin:${process.env['PATH']}` }),
    });
  execFileSync(process.execPath, ['scripts/pack-client.mjs'], { cwd: project });
  writeFileSync(join(folder, 'package.json'), '{"type":"module","private":true}');
  run('npm', 'install', join(project, `coinop-${version}.tgz`), '--offline', '--no-audit', '--no-fund', '--silent');
  assert.deepEqual(
    readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['coinop'],
  );
  figures.report('installed, and nothing else with it', 'yes');

  writeFileSync(
    join(folder, 'game.js'),
    `import { coinop } from 'coinop/client'; import { playRoom } from 'coinop/client/rooms'; console.log(typeof playRoom, typeof coinop({ url: 'http://127.0.0.1:9', store: null }).coins.credit);`,
  );
  assert.equal(run(process.execPath, 'game.js'), 'function function\n');
  writeFileSync(
    join(folder, 'server.js'),
    `import { coinopServer } from 'coinop/client/server'; console.log(typeof coinopServer({ url: 'http://127.0.0.1:9', key: '${key}' }).grant);`,
  );
  assert.equal(run(process.execPath, 'server.js'), 'function\n');
  // A module that a page loads must not accept a key.
  assert.ok(!readFileSync(join(folder, 'node_modules/coinop/client.js'), 'utf8').includes('coinop_sk_'));
  figures.report('imported by Node', 'yes');

  mkdirSync(join(folder, 'src'));
  writeFileSync(join(folder, 'src/game.ts'), game);
  writeFileSync(join(folder, 'src/server.ts'), gameServer);
  // Both ways to resolve a package, with the libraries of a browser and without any types of Node.
  const options = '--noEmit --strict --target es2022 --lib es2022,dom --types'.split(' ');
  for (const module of ['nodenext', 'preserve']) run('tsc', ...options, '', '--module', module, 'src/game.ts', 'src/server.ts');
  figures.report('its types are checked', 'yes');
  await proveReact(stand);
}
