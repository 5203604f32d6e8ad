import { z } from 'zod';
import type { Holding } from '../../accounts/holdings.ts';
import { read } from '../../redis/reads.ts';
import { isSetCursor } from '../../redis/set-pages.ts';
import { BestScore, bestScores } from './best-scores.ts';
import { boardAuditor } from './board-auditor.ts';
import { hideScores, moveScores, OwnScore, removeScores, scoresPage } from './account-scores.ts';
import { seasonAuditor } from './season-auditor.ts';
import { boardKeys } from './model.ts';

/** Operators see at most this many games on whose boards the account has an entry. */
const MOST_BOARDS = 100;

/** Operators see the account's score on at most this many boards, because each score takes two scripts. */
const MOST_SCORES = 20;

/** The account's entries on boards, in their archives and in their seasons. The account's set of boards names the games. */
export const scoreHolding = {
  name: 'scores',
  // On a Cluster a score may arrive after the deletion has begun. So the set of boards has to name the board of this score until the last
  // step of the deletion.
  keys: [{ name: 'boards', type: 'set', life: 'lasts', whenMoved: 'handed_over', whenDeleted: 'goes_last' }],
  handOver: ({ guestId, accountId, isLast }, services) => moveScores(guestId, accountId, isLast, services),
  erase: ({ accountId, guests }, { scripts }) => removeScores(accountId, guests, scripts),
  hide: ({ accountId, isBanned }, { scripts }) => hideScores(accountId, isBanned, scripts),
  exported: {
    shape: { scores: z.array(OwnScore).optional().meta({ description: 'Entries on boards. An entry may come twice.' }) },
    pages: {
      letter: 's',
      firstPlace: '0',
      isPlace: isSetCursor,
      async read({ caller }, place, { scripts }) {
        const { scores, cursor, reads } = await scoresPage(caller, place, scripts);
        return { lists: { scores }, next: cursor === '0' ? undefined : cursor, reads };
      },
    },
  },
  shown: {
    shape: {
      boards: z
        .object({ count: z.number().int(), games: z.array(z.string()), scores: z.array(BestScore) })
        .meta({ description: `${MOST_BOARDS} games at most, and the best score on the first ${MOST_SCORES} of them.` }),
    },
    async show({ accountId }, services, parts) {
      const boards = boardKeys.ofAccount(accountId);
      const { scripts } = services;
      const [[count], sample] = await Promise.all([read(scripts, 'SCARD', boards), read(scripts, 'SRANDMEMBER', boards, MOST_BOARDS)]);
      const games = sample.toSorted();
      return { boards: { count: Number(count), games, scores: await bestScores(accountId, games.slice(0, MOST_SCORES), services, parts) } };
    },
  },
  auditors: () => [boardAuditor, seasonAuditor],
} satisfies Holding;
