import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '../../proofs/client.ts';
import { now } from '../../proofs/history.ts';
import { operate } from '../../proofs/operator-tool.ts';
import { Place } from '../../proofs/place.ts';
import { reportAudit, type Part, type Stand } from '../../proofs/proof.ts';
import { seeded } from '../../seeded.ts';
import { catalogueOf } from './catalogue-of.ts';
import { RandomBoard } from './random-board.ts';

const OPERATIONS = 1_000_000;
const BOARDS = 32;

export const parts: readonly Part[] = [
  {
    ...{ proof: 'boards', name: 'random', seconds: 600, least: 40, prove },
    about: 'a million random operations: scores, names, moves of guests, bans, deletions, removals and resets, compared with a model',
  },
];

/** Each answer, rank, page and neighbourhood of a player is compared. `--seed` repeats a run, except for the interleaving of the boards. */
async function prove(stand: Stand): Promise<void> {
  const { folder, figures, size, flags, endsBy, closing } = stand;
  const games = Array.from({ length: BOARDS }, (_, board) => `board-${board}`);
  const isAscending = (board: number): boolean => board % 2 === 1;
  const file = join(folder, 'catalogue.json');
  writeFileSync(file, catalogueOf(games.filter((_, board) => isAscending(board))));
  const settings = { CATALOGUE_FILE: file, BOARDS: 'open', ADMIN_API: 'on', STORE: 'sandbox' };
  const place = await Place.open({ settings }, stand);
  const client = new Client(() => place.url());
  closing.push(() => client.close());
  const { token: bearer } = operate(['keys', 'create', '--name', 'prove', '--scopes', 'admin'], place.settings) as { token: string };
  // Services read the keys again some time after a change.
  await pause(1000);
  const boards = await Promise.all(
    games.map((game, board) =>
      RandomBoard.open(
        { client, bearer },
        // Redis has another encoding for boards of up to 128 entries.
        { game, order: isAscending(board) ? 'asc' : 'desc', players: board % 4 < 2 ? 60 : 250, random: seeded(flags.seed + board) },
      ),
    ),
  );
  let left = OPERATIONS * size;
  let done = 0;
  const failures: string[] = [];
  const work = async (board: RandomBoard, index: number): Promise<void> => {
    for (; left-- > 0 && failures.length === 0 && now() < endsBy; done++)
      await board.step().catch((error: Error) => failures.push(`${games[index]}: ${error.stack}`));
  };
  await Promise.all(boards.map(work));
  const counts = new Map<string, number>();
  for (const [what, count] of boards.flatMap((board) => Object.entries(board.counts))) counts.set(what, (counts.get(what) ?? 0) + count);
  for (const [what, count] of counts) figures.report(`  ${what}`, count);
  figures.report('operations, and the seed', `${done}; ${flags.seed}`);
  for (const failure of failures) console.log(`    ${failure}`);
  figures.exactly('boards that differ from the model', failures.length, 0);
  await reportAudit(figures, place);
}
