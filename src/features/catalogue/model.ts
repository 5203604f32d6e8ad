import { z } from 'zod';
import { WrittenProducts } from './product.ts';

/** A game's name in paths and Redis keys, and its id in the catalogue. A game need not be in the catalogue. */
export const GameId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'Must be 1 to 64 of a-z, 0-9, _ and -, the first a letter or digit')
  .meta({
    description:
      'Identifier of a game: its id in the catalogue. Games outside the catalogue work the same, but get no boards with BOARDS=catalogue.',
    example: 'pebble-drop',
  });

/** A web URL, a URL that opens a store's app, or a path on the site that shows the catalogue. */
const Link = z
  .string()
  .max(2048)
  .regex(/^(https?:\/\/|market:\/\/|itms-apps:\/\/|\/)\S+$/, 'Must be a URL, or a path that starts with /');

const Word = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'Must be a word of a-z, 0-9, _ and -');

const Platform = z
  .object({
    platform: Word.meta({ description: 'Such as android, ios or web.' }),
    packageName: z.string().min(1).max(255).optional(),
    url: Link,
  })
  .meta({ id: 'CataloguePlatform', example: { platform: 'web', url: 'https://play.example/pebble-drop' } });

const UP_TO_RULE = 'Must be a rank from 1 to 100,000';
const PRIZE_RULE = 'Must be a whole number from 1 to 1,000,000';

const Prize = z
  .object({
    upTo: z.int(UP_TO_RULE).min(1, UP_TO_RULE).max(100_000, UP_TO_RULE).meta({ description: 'The last rank that gets it.' }),
    coins: z.int(PRIZE_RULE).min(1, PRIZE_RULE).max(1_000_000, PRIZE_RULE).meta({ description: 'For each player of these ranks.' }),
  })
  .meta({ id: 'SeasonPrize', example: { upTo: 10, coins: 50 } });

const MOST_PRIZES = 20;
const MOST_PAY_AFTER_SECONDS = 30 * 86_400;
const MOST_KEPT = 100;

const PAY_AFTER_RULE = 'Must be a whole number of seconds from 0 to 2,592,000 (30 days)';
const KEEP_RULE = `Must be a whole number from 1 to ${MOST_KEPT}`;

const seasonFields = {
  period: z.enum(['daily', 'weekly', 'monthly']).meta({ description: 'In UTC. A week begins on Monday.' }),
  payAfterSeconds: z
    .int(PAY_AFTER_RULE)
    .min(0, PAY_AFTER_RULE)
    .max(MOST_PAY_AFTER_SECONDS, PAY_AFTER_RULE)
    .optional()
    .meta({ description: 'From the end of the season to its prizes, for a look at the board. Default: 0.' }),
  keep: z
    .int(KEEP_RULE)
    .min(1, KEEP_RULE)
    .max(MOST_KEPT, KEEP_RULE)
    .optional()
    .meta({ description: 'Closed seasons whose boards are kept. Default: 12.' }),
};

const MOST_PRIZES_RULE = `Must be at most ${MOST_PRIZES} prizes`;

const Season = z
  .object({
    ...seasonFields,
    prizes: z
      .array(Prize)
      .max(MOST_PRIZES, MOST_PRIZES_RULE)
      .optional()
      .meta({ description: 'By rising ranks: a player gets the first prize whose `upTo` is not below the rank.' }),
  })
  .meta({ id: 'CatalogueSeason', example: { period: 'weekly', prizes: [{ upTo: 1, coins: 500 }] } });

export const CatalogueEntry = z
  .object({
    id: GameId,
    kind: z.enum(['app', 'game']),
    name: z.string().min(1).max(80),
    tagline: z.string().max(200),
    icon: Link,
    url: Link,
    status: z.enum(['live', 'beta', 'soon']),
    platforms: z.array(Platform),
    features: z.array(z.string().min(1).max(80)).optional(),
    order: z.enum(['asc', 'desc']).optional().meta({
      description: 'For games: asc if lower scores are better (times, strokes), desc if higher scores are better. Default: desc.',
    }),
    scores: z.enum(['client', 'server']).optional().meta({
      description: 'For games: server if only a server key may submit scores, client if any client may. Default: client.',
    }),
    season: Season.optional().meta({
      description: 'For games: the board begins again with each period. Left out: one board for all time.',
    }),
    updatedAt: z.iso.datetime({ offset: true }),
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

/** Who submits the scores of a game: any client, or only servers with a key. */
export type ScoreAuthority = 'client' | 'server';

/** People write the file by hand: an unknown field is a typing error, so the file is refused. */
const WrittenEntry = z.strictObject({
  ...CatalogueEntry.shape,
  platforms: z.array(z.strictObject(Platform.shape)),
  season: z
    .strictObject({ ...seasonFields, prizes: z.array(z.strictObject(Prize.shape)).max(MOST_PRIZES, MOST_PRIZES_RULE).optional() })
    .optional(),
});

const Entries = z.strictObject({ apps: z.array(WrittenEntry), products: WrittenProducts.default([]) }).superRefine(({ apps }, context) => {
  const ids = new Set<string>();
  for (const [index, { id, kind, order, scores, season }] of apps.entries()) {
    if (ids.has(id)) context.addIssue({ code: 'custom', path: ['apps', index, 'id'], message: `Another entry has the id ${id}` });
    if (kind === 'app' && order !== undefined)
      context.addIssue({ code: 'custom', path: ['apps', index, 'order'], message: 'Only a game has an order' });
    if (kind === 'app' && scores !== undefined)
      context.addIssue({ code: 'custom', path: ['apps', index, 'scores'], message: 'Only a game has scores' });
    if (kind === 'app' && season !== undefined)
      context.addIssue({ code: 'custom', path: ['apps', index, 'season'], message: 'Only a game has seasons' });
    for (const [place, { upTo }] of season?.prizes?.entries() ?? [])
      if (place > 0 && upTo <= season!.prizes![place - 1]!.upTo)
        context.addIssue({
          code: 'custom',
          path: ['apps', index, 'season', 'prizes', place, 'upTo'],
          message: 'Must be above the upTo before it',
        });
    ids.add(id);
  }
});

/** `{"apps": […], "products": […]}`, or the array of apps alone. */
export const CatalogueFile = z.preprocess((content) => (Array.isArray(content) ? { apps: content } : content), Entries);
