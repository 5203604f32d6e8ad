import { describe } from 'vitest';

/**
 * Files that `npm test` also runs on a Redis Cluster: one for each way in which scripts depend on slots, besides events (`ON_CLUSTER` of
 * `vitest.config.ts`). They share a process and a Cluster: a process of their own each would take 3 s more of CPU time. Their services run
 * at the same time on the same queues, so all have the same settings, and each ends with the tests of its file.
 */

/** Keys of two accounts: a guest moves into its target. The steps of a move are repeated from a queue. */
describe('moves', async () => void (await import('./features/guest-moves/move.test.ts')));

/** A room and the account of its caller, on one primary and on two. Changes are published in the slot of the room. */
describe('rooms', async () => void (await import('./features/rooms/writes.test.ts')));

/** A board and the account of its caller. */
describe('scores', async () => void (await import('./features/highscores/submit.test.ts')));

/** A queue, whose parts lie in many slots: it erases all that an account has in other slots. */
describe('deletions', async () => void (await import('./features/deletion/delete.test.ts')));
