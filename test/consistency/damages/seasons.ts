import { seasonKeys } from '../../../src/features/highscores/model.ts';
import { redis } from './data.ts';

/** A damage of a season whose winner got 500 coins. */
export interface SeasonDamage {
  readonly kind: string;
  readonly isMended?: true;
  /** Changes the season. @returns the subject of the finding, or nothing if it is the season */
  readonly damage: (game: string, season: string) => Promise<unknown>;
  /** The finding is about the board. */
  readonly isOfBoard?: true;
}

const set =
  (fields: Record<string, string | number>): SeasonDamage['damage'] =>
  (game, season) =>
    redis.hset(seasonKeys.season(game, season), fields);

export const seasonDamages: Readonly<Record<string, SeasonDamage>> = {
  'rules that are lost': {
    damage: (game, season) => redis.del(seasonKeys.season(game, season)),
    kind: 'season_without_rules',
  },
  'a list of seasons that is lost': {
    damage: (game) => redis.del(seasonKeys.seasons(game)),
    kind: 'season_not_listed',
    isOfBoard: true,
    isMended: true,
  },
  'an end of the closed seasons that is lost': {
    damage: (game) => redis.del(seasonKeys.closed(game)),
    kind: 'season_not_closed',
    isMended: true,
  },
  'payouts that are lost': { damage: (game, season) => redis.del(seasonKeys.payouts(game, season)), kind: 'wrong_payout' },
  'a payout that was changed': {
    async damage(game, season) {
      const key = seasonKeys.payouts(game, season);
      for (const [playerId, text] of Object.entries(await redis.hgetall(key)))
        await redis.hset(key, playerId, text.replace(' 500 ', ' 5000 '));
    },
    kind: 'wrong_payout',
  },
  'scores that are lost': { damage: (game, season) => redis.del(seasonKeys.scores(game, season)), kind: 'player_without_score' },
  'players that are lost': { damage: (game, season) => redis.del(seasonKeys.players(game, season)), kind: 'score_without_player' },
  'coins paid that were changed': { damage: set({ paidCoins: 7 }), kind: 'wrong_payout' },
  'a paid state that was changed to open': { damage: set({ state: 'open' }), kind: 'unreadable_season' },
  'a state that nobody writes': { damage: set({ state: 'closed' }), kind: 'unreadable_season' },
  'prizes that cannot be read': { damage: set({ prizes: '1:500 many' }), kind: 'unreadable_season' },
  'thresholds that cannot be read': { damage: set({ thresholds: 'many' }), kind: 'unreadable_season' },
  'an end that was changed': { damage: set({ endsAt: 1 }), kind: 'unreadable_season' },
  'thresholds that were changed': { damage: set({ thresholds: '1:7' }), kind: 'wrong_payout' },
};
