import { standingKey } from '../../../src/accounts/account-keys.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { damageEntry, entryOn, type RawEntry } from '../../board-entries.ts';
import { deleteAccount, ofAccount, player, queuedAlone, redis, type Damages } from './data.ts';
import { freshId } from '../../harness.ts';

interface Entry extends RawEntry {
  readonly id: string;
  readonly keys: Readonly<Record<'scores' | 'players' | 'secret', string>>;
}

/** Damages an entry on a board of two players, which is the subject. */
function ofBoard(game: string, damage: (entry: Entry) => Promise<unknown>) {
  return async (): Promise<string> => {
    const id = await player(game, 1);
    await player(game, 2);
    const keys = { scores: boardKeys.scores(game), players: boardKeys.players(game), secret: boardKeys.secret(game) };
    await damage({ id, keys, ...(await entryOn(redis, game, id))! });
    return `board ${game}`;
  };
}

const ofPlayer = (game: string, damage: (id: string) => Promise<unknown>) =>
  ofAccount(
    async () => ({ id: await player(game) }),
    ({ id }) => damage(id),
  );

async function players(game: string, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await player(game, index);
}

export const boardDamages: Damages = {
  'a score without a player': {
    kind: 'score_without_player',
    lasting: ofBoard('without-player', ({ keys, playerId }) => redis.hdel(keys.players, playerId)),
  },
  'a player without a score': {
    kind: 'player_without_score',
    lasting: ofBoard('without-score', ({ keys, member }) => redis.zrem(keys.scores, member)),
  },
  'an entry that is hidden without a ban': {
    kind: 'hidden_entry',
    mended: ofBoard('hidden', async ({ keys, playerId, member }) => {
      await redis.hset(keys.players, `!${playerId}`, (await redis.zscore(keys.scores, member))!);
      await redis.zrem(keys.scores, member);
    }),
  },
  'an entry of a banned account that a board shows': {
    kind: 'shown_entry',
    mended: ofPlayer('shown', (id) => redis.set(standingKey(id), '!0 1 -\n')),
  },
  'a queue of bans with an account that is not banned': { kind: 'queue_without_document', mended: queuedAlone('bans:due', 'nobody') },
  'a score with another name than its player': {
    kind: 'entry_differs',
    mended: ofBoard('renamed', ({ keys, playerId, text }) => redis.hset(keys.players, playerId, `${text}x`)),
  },
  'scores whose players are all lost': {
    kind: 'score_without_player',
    async lasting() {
      const id = await player('playerless');
      await redis.del(boardKeys.players('playerless'), boardKeys.ofAccount(id));
      return 'board playerless';
    },
  },
  'a player whose account does not name the board': {
    kind: 'player_without_board',
    mended: ofPlayer('unnamed', (id) => redis.del(boardKeys.ofAccount(id))),
  },
  'an entry of an account that was deleted': {
    kind: 'deleted_account_on_board',
    async mended() {
      const installId = freshId();
      await player('erased', 10, installId);
      return `account ${await deleteAccount(installId, (id) => redis.del(boardKeys.ofAccount(id)))}`;
    },
  },
  'an account that names a board on which it does not play': {
    kind: 'lost_board',
    async mended() {
      await redis.sadd(boardKeys.ofAccount(await player('played')), 'never-played');
      return 'board never-played';
    },
  },
  'an entry whose place is no number': {
    kind: 'unreadable_entry',
    lasting: ofBoard('timeless', ({ id }) => damageEntry(redis, 'timeless', id)),
  },
  'a score that no client can send': {
    kind: 'wrong_score',
    lasting: ofBoard('beyond', ({ keys, member }) => redis.zadd(keys.scores, 1e300, member)),
  },
  'a counter of arrivals that is too low': {
    kind: 'wrong_arrivals',
    mended: ofBoard('arrivals', () => redis.set(boardKeys.arrivals('arrivals'), 1)),
  },
  'a board without its secret': { kind: 'no_board_secret', lasting: ofBoard('secretless', ({ keys }) => redis.del(keys.secret)) },
  'a player under an id of another account': {
    kind: 'foreign_player',
    mended: ofBoard('foreign', async ({ keys, playerId, text }) => {
      await redis.hset(keys.players, playerId, (await player('foreign')) + text.slice(22));
    }),
  },
  'a version of a board that is no number': {
    kind: 'wrong_counter',
    mended: ofBoard('versioned', () => redis.set(boardKeys.version('versioned'), 'newest')),
  },
  'a board of many accounts without its secret': {
    kind: 'no_board_secret',
    lasting: ofBoard('secretless-many', async ({ keys }) => {
      await players('secretless-many', 10);
      await redis.del(keys.secret);
    }),
  },
  'a secret of a board that was changed': {
    kind: 'wrong_board_secret',
    lasting: ofBoard('secret-changed', async ({ keys }) => {
      await players('secret-changed', 10);
      await redis.set(keys.secret, 'another-secret-of-a-board');
    }),
  },
  'a secret of a board that was changed before others played': {
    kind: 'wrong_board_secret',
    lasting: ofBoard('secret-mixed', async ({ keys }) => {
      await player('secret-mixed', 3);
      await redis.set(keys.secret, 'another-secret-of-a-board');
      await players('secret-mixed', 3);
    }),
  },
};
