import type { Redis } from 'ioredis';
import type { Diagnosis } from './diagnosis.ts';

/** The number of Redis keys that one SCAN reads. It takes 0.3 ms of Redis's time. */
const KEYS_A_SCAN = 1000;

/** Milliseconds for which the doctor searches a Redis for boards. */
const SCAN_MS = 10_000;

/**
 * On a Cluster a board is reported if it has at least this many entries. Moving a slot that has a board of a million entries blocked both
 * nodes for 3.2 s (docs/scale-out.md#moving-slots).
 */
const MOST_ON_CLUSTER = 100_000;

/** On a single Redis a board is reported if it has at least this many entries. With 294 B an entry, they take 300 MB. */
const MOST_ON_ONE = 1_000_000;

const SCORES = /^\{board:([^}]*)\}:scores$/;

/** Reports boards that are too big for their Redis. */
export async function examineBoards(redis: Redis, diagnosis: Diagnosis, isOfCluster: boolean, node?: string): Promise<void> {
  const most = isOfCluster ? MOST_ON_CLUSTER : MOST_ON_ONE;
  const { boards, isWhole } = await boardsOf(redis, performance.now() + SCAN_MS);
  const [biggest] = [...boards].toSorted(([, one], [, other]) => other - one);
  const rest = isWhole ? '' : `; not all keys were read in ${SCAN_MS / 1000} s`;
  const text = biggest === undefined ? 'none' : `${boards.size}, the biggest is ${biggest[0]} with ${biggest[1]} entries`;
  diagnosis.fact(node === undefined ? 'boards' : `boards of ${node}`, text + rest);
  for (const [game, entries] of boards) {
    if (entries < most) continue;
    const cost = isOfCluster
      ? 'A board is one key. Moving its slot may block both nodes long enough for a failover to begin.'
      : 'A board is one key, and cannot be split: a Cluster would keep it whole on one primary.';
    const mend = isOfCluster
      ? 'Do not reshard its slot the classic way (docs/scale-out.md#moving-slots)'
      : 'Plan its memory (docs/scale-out.md#big-boards), or begin a new board each season: another game id';
    diagnosis.find(isOfCluster ? 'warning' : 'note', 'big_board', { text: `The board ${game} has ${entries} entries.`, cost, mend }, node);
  }
}

async function boardsOf(redis: Redis, giveUpAt: number): Promise<{ boards: Map<string, number>; isWhole: boolean }> {
  const boards = new Map<string, number>();
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', '{board:*}:scores', 'COUNT', KEYS_A_SCAN);
    for (const key of keys) {
      const game = SCORES.exec(key)?.[1];
      if (game !== undefined) boards.set(game, await redis.zcard(key));
    }
    cursor = next;
  } while (cursor !== '0' && performance.now() < giveUpAt);
  return { boards, isWhole: cursor === '0' };
}
