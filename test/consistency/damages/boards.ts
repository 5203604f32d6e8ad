import { standingKey } from '../../../src/accounts/account-keys.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { damageEntry, entryOn } from '../../board-entries.ts';
import { player, redis, type Damages } from './data.ts';

export const boardDamages: Damages = {
  'a score without a player': {
    async make() {
      const { playerId } = (await entryOn(redis, 'without-player', await player('without-player')))!;
      await redis.hdel(boardKeys.players('without-player'), playerId);
      await player('without-player');
      return 'board without-player';
    },
    kind: 'score_without_player',
  },
  'a player without a score': {
    async make() {
      const id = await player('without-score');
      await player('without-score');
      await redis.zrem(boardKeys.scores('without-score'), (await entryOn(redis, 'without-score', id))!.member);
      return 'board without-score';
    },
    kind: 'player_without_score',
  },
  'an entry that is hidden without a ban': {
    async make() {
      const { playerId, member } = (await entryOn(redis, 'hidden', await player('hidden')))!;
      await player('hidden');
      await redis.hset(boardKeys.players('hidden'), `!${playerId}`, (await redis.zscore(boardKeys.scores('hidden'), member))!);
      await redis.zrem(boardKeys.scores('hidden'), member);
      return 'board hidden';
    },
    kind: 'hidden_entry',
    mends: true,
  },
  'an entry of a banned account that a board shows': {
    async make() {
      const id = await player('shown');
      await redis.set(standingKey(id), '!0 1 -\n');
      return `account ${id}`;
    },
    kind: 'shown_entry',
    mends: true,
  },
  'a queue of bans with an account that is not banned': {
    async make() {
      await redis.zadd('bans:due', Date.now() + 3_600_000, 'nobody');
      return 'queue bans:due';
    },
    kind: 'queue_without_document',
    mends: true,
  },
  'a score with another name than its player': {
    async make() {
      const { playerId, text } = (await entryOn(redis, 'renamed', await player('renamed')))!;
      await redis.hset(boardKeys.players('renamed'), playerId, `${text}x`);
      return 'board renamed';
    },
    kind: 'entry_differs',
    mends: true,
  },
  'scores whose players are all lost': {
    async make() {
      const id = await player('playerless');
      await redis.del(boardKeys.players('playerless'));
      await redis.del(boardKeys.ofAccount(id));
      return 'board playerless';
    },
    kind: 'score_without_player',
  },
  'a player whose account does not name the board': {
    async make() {
      const id = await player('unnamed');
      await redis.del(boardKeys.ofAccount(id));
      return `account ${id}`;
    },
    kind: 'player_without_board',
    mends: true,
  },
  'an account that names a board on which it does not play': {
    async make() {
      const id = await player('played');
      await redis.sadd(boardKeys.ofAccount(id), 'never-played');
      return 'board never-played';
    },
    kind: 'lost_board',
    mends: true,
  },
  'an entry whose place is no number': {
    async make() {
      await damageEntry(redis, 'timeless', await player('timeless'));
      return 'board timeless';
    },
    kind: 'unreadable_entry',
  },
  'a counter of arrivals that is too low': {
    async make() {
      await player('arrivals', 1);
      await player('arrivals', 2);
      await redis.set(boardKeys.arrivals('arrivals'), 1);
      return 'board arrivals';
    },
    kind: 'wrong_arrivals',
    mends: true,
  },
  'a board without its secret': {
    async make() {
      await player('secretless');
      await redis.del(boardKeys.secret('secretless'));
      return 'board secretless';
    },
    kind: 'no_board_secret',
  },
  'a player under an id of another account': {
    async make() {
      const [own, other] = [await player('foreign'), await player('foreign')];
      const entry = (await entryOn(redis, 'foreign', own))!;
      await redis.hset(boardKeys.players('foreign'), entry.playerId, other + entry.text.slice(22));
      return 'board foreign';
    },
    kind: 'foreign_player',
    mends: true,
  },
  'a version of a board that is no number': {
    async make() {
      await player('versioned');
      await redis.set('{board:versioned}:version', 'newest');
      return 'board versioned';
    },
    kind: 'wrong_counter',
    mends: true,
  },
  'a board of many accounts without its secret': {
    async make() {
      for (let index = 0; index < 12; index++) await player('secretless-many', index);
      await redis.del(boardKeys.secret('secretless-many'));
      return 'board secretless-many';
    },
    kind: 'no_board_secret',
  },
  'a secret of a board that was changed': {
    async make() {
      for (let index = 0; index < 12; index++) await player('secret-changed', index);
      await redis.set(boardKeys.secret('secret-changed'), 'another-secret-of-a-board');
      return 'board secret-changed';
    },
    kind: 'wrong_board_secret',
  },
  'a secret of a board that was changed before others played': {
    async make() {
      for (let index = 0; index < 3; index++) await player('secret-mixed', index);
      await redis.set(boardKeys.secret('secret-mixed'), 'another-secret-of-a-board');
      for (let index = 0; index < 3; index++) await player('secret-mixed', index);
      return 'board secret-mixed';
    },
    kind: 'wrong_board_secret',
  },
};
