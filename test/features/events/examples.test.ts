import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { childEnvironment } from '../../environment.ts';
import { freePort } from '../../free-port.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { makeServerKey } from '../../server-keys.ts';
import { atFullSize } from '../../sized.ts';
import { appOf, catalogueFile } from '../highscores/catalogue-of.ts';

/** The programs of docs/events.md, as their pages start them. */
const DAY_MS = 86_400_000;
const children: ChildProcess[] = [];
const season = { period: 'daily', prizes: [{ upTo: 1, coins: 500 }] };
const CATALOGUE_FILE = catalogueFile(JSON.stringify({ apps: [appOf('daily', { season })] }));
const folder = dirname(CATALOGUE_FILE);
afterAll(() => children.forEach((child) => child.kill('SIGKILL')));
const own = await forFile(startRedis());
const service = await forFile(start({ redis: own.location, settings: { EVENTS: 'on', CATALOGUE_FILE } }));
const { token } = await makeServerKey(service, ['events']);

/** @returns what the program has written */
function run(name: string, settings: Record<string, string>, ...words: string[]): () => string {
  const program = fileURLToPath(new URL(`../../../docs/examples/${name}`, import.meta.url));
  const env = childEnvironment({ ...settings, COINOP_URL: service.url, COINOP_KEY: token });
  const child = spawn(process.execPath, [program, ...words], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (output += part.toString()));
  return () => output;
}

test('events-to-sqlite.mjs loads events, goes on with new ones, and forgets those of a deleted account', async () => {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins: 5, key: 'a' });
  run('events-to-sqlite.mjs', {}, 'events.db');
  const rows = (): unknown[] => {
    try {
      const db = new DatabaseSync(join(folder, 'events.db'), { readOnly: true });
      const found = db.prepare('SELECT type, data FROM events WHERE account = ? ORDER BY number').all(accountIdOf(installId));
      db.close();
      return found.map((row) => Object.values(row).join(' '));
    } catch {
      return [];
    }
  };
  await expect.poll(rows).toEqual(['account.created {}', 'coins.changed {"entryId":"1","type":"credit","coins":5,"balanceAfterCoins":5}']);
  const { confirm } = (await service.post('/v1/account/delete', { installId })).body;
  await service.post('/v1/account/delete', { installId, confirm });
  await expect.poll(rows).toEqual(['account.created {}', 'coins.changed {}', 'account.deleted {}']);
});

atFullSize('signed-in.mjs tells the page of a website that its pairing was claimed', async () => {
  const port = await freePort();
  const output = run('signed-in.mjs', { PORT: String(port) });
  await expect.poll(output).toContain('ready');
  const page = await (await fetch(`http://127.0.0.1:${port}/`)).text();
  const [, pairing] = /\/claimed\/([0-9a-f]{22})/.exec(page)!;
  const stream = (await fetch(`http://127.0.0.1:${port}/claimed/${pairing}`)).body!.getReader();
  const installId = freshId();
  await service.post('/v1/pair/claim', { installId, token: /token=([\w-]{24})/.exec(page)![1] });
  const { value } = await stream.read();
  expect(new TextDecoder().decode(value)).toBe(`data: ${accountIdOf(installId)}\n\n`);
  await stream.cancel();
});

atFullSize('season-winners.mjs posts the winners of a season that ended', async () => {
  const posts: string[] = [];
  const discord = createServer(async (request, response) => {
    posts.push(await text(request));
    response.writeHead(204).end();
  }).listen(0, '127.0.0.1');
  await once(discord, 'listening');
  for (const [name, score] of [
    ['Ada', 30],
    ['Bob', 20],
  ] as const)
    await service.post('/v1/highscores/daily', { installId: freshId(), name, score });
  run('season-winners.mjs', { DISCORD_WEBHOOK: `http://127.0.0.1:${(discord.address() as AddressInfo).port}/` });
  await using tomorrow = await start({
    redis: own.location,
    settings: { EVENTS: 'on', CATALOGUE_FILE },
    redisAheadMs: DAY_MS,
  });
  tomorrow.advance(DAY_MS);
  await expect.poll(() => posts.length).toBe(1);
  const { content } = JSON.parse(posts[0]!) as { content: string };
  const day = new Date().toISOString().slice(0, 10);
  expect(content).toBe(`**daily, season ${day}** (2 players)\n1. Ada: 30\n2. Bob: 20`);
  const { events } = (await tomorrow.get('/v1/events?types=board.season_ended,coins.changed&limit=1000', { bearer: token })).body;
  expect(events.filter(({ type }: { type: string }) => type === 'board.season_ended')).toMatchObject([
    { data: { game: 'daily', season: day, entries: 2, prizes: 1 } },
  ]);
  discord.close();
});
