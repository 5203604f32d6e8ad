import { readHash } from '../../redis/reads.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';

/** The Redis keys of a board that exist only if an operator has changed the board. All have the board's hash tag. */
export const operatedBoardKeys = {
  /** A hash: the record of each archive of the board by its number, in JSON: `{at, by, reason, entries, droppedAt?}`. */
  archives: (game: string) => `{board:${game}}:archives`,
  /** The sorted set of scores and the hash of players of an archive. These keys have the same formats as the board's keys. */
  archivedScores: (game: string, number: number) => `{board:${game}}:archive:${number}:scores`,
  archivedPlayers: (game: string, number: number) => `{board:${game}}:archive:${number}:players`,
  /**
   * A set: the ids of accounts whose entries on the board an operator removed. The sets of boards of these accounts still name the board.
   */
  removed: (game: string) => `{board:${game}}:removed`,
};

/** The record of an archive in Redis. Times are milliseconds since 1970. */
export interface ArchiveRecord {
  readonly at: number;
  readonly by: string;
  readonly reason: string;
  readonly entries: number;
  /** The time at which an operator deleted the entries of the archive. Undefined while the archive has its entries. */
  readonly droppedAt: number | undefined;
}

/** The record of an archive from its text. Undefined if no version of the service writes such a text. */
export function parseArchive(text: string): ArchiveRecord | undefined {
  try {
    const { at, by, reason, entries, droppedAt } = JSON.parse(text) as Record<string, unknown>;
    const isWhole = Number.isSafeInteger(at) && Number.isSafeInteger(entries) && typeof by === 'string' && typeof reason === 'string';
    return isWhole ? ({ at, by, reason, entries, droppedAt } as ArchiveRecord) : undefined;
  } catch {
    return undefined;
  }
}

/** The numbers of a board's archives that still have their entries. */
export async function archivesKept(game: string, scripts: ScriptRunner): Promise<number[]> {
  const archives = await readHash(scripts, operatedBoardKeys.archives(game));
  const kept = archives.filter(([, record]) => parseArchive(record)?.droppedAt === undefined);
  return kept.map(([number]) => Number(number));
}
