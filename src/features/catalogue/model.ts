import { z } from 'zod';

/** A game's name in paths and keys; its id in the catalogue, if it stands there. */
export const GameId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'Must be 1 to 64 of a-z, 0-9, _ and -, the first a letter or digit')
  .meta({
    description:
      'Identifier of a game, as the catalogue names it; games it does not list work the same, unless BOARDS=catalogue keeps them from getting boards.',
  });

/** A web address, one of a store app, or a path on the site that shows it. */
const Link = z
  .string()
  .max(2048)
  .regex(/^(https?:\/\/|market:\/\/|itms-apps:\/\/|\/)\S+$/, 'Must be a URL, or a path that starts with /');

const Word = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'Must be a word of a-z, 0-9, _ and -');

const Platform = z.object({
  platform: Word.meta({ description: 'Such as android, ios or web.' }),
  packageName: z.string().min(1).max(255).optional(),
  url: Link,
});

export const CatalogueEntry = z.object({
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
    description: 'Of a game: asc where the lower score is the better one (times, strokes), desc where the higher is; desc unless said.',
  }),
  updatedAt: z.iso.datetime({ offset: true }),
});

export type ScoreOrder = 'asc' | 'desc';

/** The file is written by hand: a field that nobody knows is a slip of the pen. */
const WrittenEntry = z.strictObject({ ...CatalogueEntry.shape, platforms: z.array(z.strictObject(Platform.shape)) });

const Entries = z.strictObject({ apps: z.array(WrittenEntry) }).superRefine(({ apps }, context) => {
  const ids = new Set<string>();
  for (const [index, { id, kind, order }] of apps.entries()) {
    if (ids.has(id)) context.addIssue({ code: 'custom', path: ['apps', index, 'id'], message: `Another entry has the id ${id}` });
    if (kind === 'app' && order !== undefined)
      context.addIssue({ code: 'custom', path: ['apps', index, 'order'], message: 'Only a game has an order' });
    ids.add(id);
  }
});

/** `{"apps": […]}`, or the list alone. */
export const CatalogueFile = z.preprocess((content) => (Array.isArray(content) ? { apps: content } : content), Entries);
