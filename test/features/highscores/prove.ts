import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { ScriptRunner } from '../../../src/redis/script-runner.ts';
import { ServerKeyChanges } from '../../../src/server/identity/server-key-changes.ts';
import { runAuditCommand } from '../../consistency/command.ts';
import { startChild } from '../../realtime/child.ts';
import { catalogueOf } from './catalogue-of.ts';
import { seeded } from '../../seeded.ts';
import { RandomBoard } from './random-board.ts';

/**
 * Proves boards by a million random operations: `npm run prove:boards`. Scores, names, moves of guests, bans, deletions, removals and resets;
 * each answer, rank, page and neighbourhood of a player is compared with a simple model, and an audit follows. It takes some ten minutes.
 * `--operations 100000` makes it shorter. `--seed` repeats a run, except for the interleaving of the boards.
 */

const { values } = parseArgs({
  options: { operations: { type: 'string', default: '1000000' }, boards: { type: 'string', default: '32' }, seed: { type: 'string' } },
});
const operations = Number(values.operations);
const count = Number(values.boards);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32));

const folder = mkdtempSync(join(tmpdir(), 'coinop-prove-boards-'));
const agent = new Agent({ keepAlive: true, maxSockets: count });
const games = Array.from({ length: count }, (_, board) => `board-${board}`);
const isAscending = (board: number): boolean => board % 2 === 1;

const file = join(folder, 'catalogue.json');
writeFileSync(file, catalogueOf(games.filter((_, board) => isAscending(board))));
const service = await startChild({ DATA_DIR: folder, CATALOGUE_FILE: file, BOARDS: 'open', ADMIN_API: 'on', STORE: 'sandbox' });
const redis = new Redis({ path: join(folder, 'redis.sock') });
const { token: bearer } = await new ServerKeyChanges(new ScriptRunner(redis, { now: Date.now }), Date.now).create({
  name: 'prove',
  scopes: ['admin'],
});
redis.disconnect();
// Services read the keys again some time after a change.
await delay(1000);

console.log(`  ${operations} operations on ${count} boards, seed ${seed}`);
const startedAt = performance.now();
let left = operations;
let failure: string | undefined;
const boards = await Promise.all(
  games.map((game, board) =>
    RandomBoard.open(
      { url: service.url, bearer, agent },
      // Redis has another encoding for boards of up to 128 entries.
      { game, order: isAscending(board) ? 'asc' : 'desc', players: board % 4 < 2 ? 60 : 250, random: seeded(seed + board) },
    ),
  ),
);
await Promise.all(
  boards.map(async (board, index) => {
    while (left-- > 0 && failure === undefined)
      await board.step().catch((error: unknown) => (failure ??= `${games[index]}: ${(error as Error).stack}`));
  }),
);
const seconds = (performance.now() - startedAt) / 1000;
const counts: Record<string, number> = {};
for (const board of boards) for (const [what, times] of Object.entries(board.counts)) counts[what] = (counts[what] ?? 0) + times;
for (const [what, times] of Object.entries(counts)) console.log(`  ${what.padEnd(20)} ${String(times).padStart(9)}`);
console.log(`  ${(operations / seconds).toFixed(0)} a second, ${seconds.toFixed(0)} s`);
const audit = await runAuditCommand([], { DATA_DIR: folder });
console.log(audit.out + audit.error);
await service.stop();
agent.destroy();
rmSync(folder, { recursive: true, force: true });
if (failure !== undefined) console.error(`! ${failure}`);
if (failure !== undefined || audit.code !== 0) process.exitCode = 1;
