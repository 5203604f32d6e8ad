import { z } from 'zod';
import { defineFormat, whole } from '../../redis/text-format.ts';

/** The id of a game, in paths, Redis keys and the catalogue. A game need not be in the catalogue. */
export const GameId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'Must be 1 to 64 of a-z, 0-9, _ and -, the first a letter or digit')
  .meta({
    description:
      'Identifier of a game: its id in the catalogue. A game outside the catalogue works in the same way, but gets no boards if BOARDS is `catalogue`.',
    example: 'pebble-drop',
  });

/** A web URL, a URL that opens a store's app, or a path on the site that shows the catalogue. */
const Link = z
  .string()
  .max(2048)
  .regex(/^(https?:\/\/|market:\/\/|itms-apps:\/\/|\/)\S+$/, 'Must be a URL, or a path that starts with /');

const LINK_RULE = 'A URL of http, https, market or itms-apps, or a path that starts with /.';

const Word = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'Must be a word of a-z, 0-9, _ and -');

export const Platform = z
  .object({
    platform: Word.meta({ description: 'The platform, such as android, ios or web.' }),
    packageName: z.string().min(1).max(255).optional().meta({ description: 'The id of the app on this platform.' }),
    url: Link.meta({ description: `The page where people get the app. ${LINK_RULE}` }),
  })
  .meta({ id: 'CataloguePlatform', example: { platform: 'web', url: 'https://play.example/pebble-drop' } });

const UP_TO_RULE = 'Must be a rank from 1 to 100,000';
const PRIZE_RULE = 'Must be a whole number from 1 to 1,000,000';

export const Prize = z
  .object({
    upTo: z.int(UP_TO_RULE).min(1, UP_TO_RULE).max(100_000, UP_TO_RULE).meta({ description: 'The last rank that wins this prize.' }),
    coins: z.int(PRIZE_RULE).min(1, PRIZE_RULE).max(1_000_000, PRIZE_RULE).meta({ description: 'Coins for each player at these ranks.' }),
  })
  .meta({ id: 'SeasonPrize', example: { upTo: 10, coins: 50 } });

/** A prize as Redis keeps it. The prizes of a season are separated by blanks: `1:500 10:50`. */
export const seasonPrize = defineFormat('prize', '<upTo>:<coins>', { upTo: whole, coins: whole });

const MOST_PRIZES = 20;
const MOST_PAY_AFTER_SECONDS = 30 * 86_400;
const MOST_KEPT = 100;

const PAY_AFTER_RULE = 'Must be a whole number of seconds from 0 to 2,592,000 (30 days)';
const KEEP_RULE = `Must be a whole number from 1 to ${MOST_KEPT}`;

const seasonFields = {
  period: z
    .enum(['daily', 'weekly', 'monthly'])
    .meta({ description: 'How long a season is. Seasons begin at midnight UTC, and a week begins on Monday.' }),
  payAfterSeconds: z.int(PAY_AFTER_RULE).min(0, PAY_AFTER_RULE).max(MOST_PAY_AFTER_SECONDS, PAY_AFTER_RULE).optional().meta({
    description: 'The time between the end of a season and the payment of its prizes, in which you can check the board. Default: 0.',
  }),
  keep: z
    .int(KEEP_RULE)
    .min(1, KEEP_RULE)
    .max(MOST_KEPT, KEEP_RULE)
    .optional()
    .meta({ description: 'Number of closed seasons whose boards are kept. Default: 12.' }),
};

const MOST_PRIZES_RULE = `Must be at most ${MOST_PRIZES} prizes`;

/** A list of prizes. @param prize the shape of a prize */
export function prizeList<Shape extends typeof Prize>(prize: Shape) {
  return z.array(prize).max(MOST_PRIZES, MOST_PRIZES_RULE);
}

export const Season = z
  .object({
    ...seasonFields,
    prizes: prizeList(Prize)
      .optional()
      .meta({ description: 'In the order of rising `upTo`: a player gets the first prize whose `upTo` is at least the rank.' }),
  })
  .meta({ id: 'CatalogueSeason', example: { period: 'weekly', prizes: [{ upTo: 1, coins: 500 }] } });

export const CatalogueEntry = z
  .object({
    id: GameId,
    kind: z.enum(['app', 'game']).meta({ description: 'Only a game has boards, and only a game may have the fields that are for games.' }),
    name: z.string().min(1).max(80).meta({ description: 'The name that people see.' }),
    tagline: z.string().max(200).meta({ description: 'One sentence for the list.' }),
    icon: Link.meta({ description: LINK_RULE }),
    url: Link.meta({ description: `The page of the app. ${LINK_RULE}` }),
    status: z.enum(['live', 'beta', 'soon']).meta({ description: 'Shown to people. The service treats entries of every status alike.' }),
    platforms: z.array(Platform).meta({ description: 'The platforms on which the app runs. May be empty.' }),
    features: z.array(z.string().min(1).max(80)).optional().meta({ description: 'Words for the page that shows the catalogue.' }),
    order: z.enum(['asc', 'desc']).optional().meta({
      description: 'For games: asc if lower scores are better (times, strokes), desc if higher scores are better. Default: desc.',
    }),
    scores: z.enum(['client', 'server']).optional().meta({
      description: 'For games: server if only a server key may submit scores, client if any client may. Default: client.',
    }),
    season: Season.optional().meta({
      description: 'For games: each period begins with an empty board. If left out, there is one board for all time.',
    }),
    updatedAt: z.iso.datetime({ offset: true }).meta({ description: 'The last change, as an ISO 8601 time with its zone.' }),
  })
  .meta({
    id: 'CatalogueEntry',
    example: {
      id: 'pebble-drop',
      kind: 'game',
      name: 'Pebble Drop',
      tagline: 'Drop pebbles, catch coins.',
      icon: '/icons/pebble-drop.png',
      url: 'https://play.example/pebble-drop',
      status: 'live',
      platforms: [{ platform: 'web', url: 'https://play.example/pebble-drop' }],
      updatedAt: '2026-11-22T12:00:00.000Z',
    },
  });

export type ScoreOrder = 'asc' | 'desc';

export type SeasonPeriod = z.output<typeof seasonFields.period>;

/** Who may submit scores of a game: any client, or only servers with a key. */
export type ScoreAuthority = 'client' | 'server';
