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

/** Who submits the scores of a game: any client, or only servers with a key. */
export type ScoreAuthority = 'client' | 'server';

/** People write the file by hand: an unknown field is a typing error, so the file is refused. */
const WrittenEntry = z.strictObject({ ...CatalogueEntry.shape, platforms: z.array(z.strictObject(Platform.shape)) });

const Entries = z.strictObject({ apps: z.array(WrittenEntry), products: WrittenProducts.default([]) }).superRefine(({ apps }, context) => {
  const ids = new Set<string>();
  for (const [index, { id, kind, order, scores }] of apps.entries()) {
    if (ids.has(id)) context.addIssue({ code: 'custom', path: ['apps', index, 'id'], message: `Another entry has the id ${id}` });
    if (kind === 'app' && order !== undefined)
      context.addIssue({ code: 'custom', path: ['apps', index, 'order'], message: 'Only a game has an order' });
    if (kind === 'app' && scores !== undefined)
      context.addIssue({ code: 'custom', path: ['apps', index, 'scores'], message: 'Only a game has scores' });
    ids.add(id);
  }
});

/** `{"apps": […], "products": […]}`, or the array of apps alone. */
export const CatalogueFile = z.preprocess((content) => (Array.isArray(content) ? { apps: content } : content), Entries);
