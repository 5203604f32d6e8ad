import { z } from 'zod';
import { STORE_NAMES } from '../../stores/stores.ts';
import type { Config } from '../../config.ts';
import { CatalogueEntry, Platform, Prize, prizeList, Season } from './model.ts';
import { Product } from './product-shape.ts';

/** The setting COIN_AUTHORITY. The setting also determines which clients may submit scores that win prizes. */
export type CoinAuthority = Config['COIN_AUTHORITY'];

/**
 * An app or a game in the catalogue's file. People write the file by hand, so an unknown field is probably a typing error: the file is
 * refused.
 */
const WrittenEntry = z
  .strictObject({
    ...CatalogueEntry.shape,
    platforms: z.array(z.strictObject(Platform.shape)).meta(CatalogueEntry.shape.platforms.meta()!),
    season: z
      .strictObject({ ...Season.shape, prizes: prizeList(z.strictObject(Prize.shape)).optional().meta(Season.shape.prizes.meta()!) })
      .optional()
      .meta(CatalogueEntry.shape.season.meta()!),
  })
  .superRefine((entry, context) => {
    for (const [field, message] of OF_GAMES)
      if (entry.kind === 'app' && entry[field] !== undefined) context.addIssue({ code: 'custom', path: [field], message });
    const ranks = (entry.season?.prizes ?? []).map(({ upTo }) => upTo);
    for (const [place, upTo] of ranks.entries())
      if (place > 0 && upTo <= ranks[place - 1]!)
        context.addIssue({ code: 'custom', path: ['season', 'prizes', place, 'upTo'], message: 'Must be above the upTo before it' });
  });

/** Fields that only a game may have, each with the problem to report if an app has it. */
const OF_GAMES = [
  ['order', 'Only a game has an order'],
  ['scores', 'Only a game has scores'],
  ['season', 'Only a game has seasons'],
] as const;

const WrittenProduct = z.strictObject({
  ...Product.shape,
  stores: z.strictObject(Product.shape.stores.shape).meta(Product.shape.stores.meta()!),
});

/** The most products in the catalogue: more than an app store lists. */
const MOST_PRODUCTS = 1000;

/** The content of CATALOGUE_FILE: this object, or only the array of apps. */
export const CatalogueFile = z.strictObject({
  apps: z.array(WrittenEntry).meta({ description: 'Apps and games, in the order in which `GET /v1/catalogue` lists them.' }),
  products: z.array(WrittenProduct).max(MOST_PRODUCTS).default([]).meta({ description: 'Coins that app stores sell.' }),
});

export type WrittenCatalogue = z.output<typeof CatalogueFile>;

/** The problems of a catalogue file, each as a line: `apps.2.order: Only a game has an order (in "tetra")`. */
export class CatalogueProblems extends Error {
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super(lines.join('; '));
    this.lines = lines;
  }
}

/** Parses a catalogue file. @throws CatalogueProblems with all problems; SyntaxError for a text that is not JSON */
export function readCatalogue(text: string, authority: CoinAuthority): WrittenCatalogue {
  const json: unknown = JSON.parse(text);
  const content = Array.isArray(json) ? { apps: json as unknown[] } : json;
  const { data, error } = CatalogueFile.safeParse(content);
  const issues = [
    ...(error?.issues ?? []).map(({ path, message }) => ({ path, message })),
    ...repeatedIds(content),
    ...(authority === 'server' && data !== undefined ? openlyPrized(data) : []),
  ];
  if (data !== undefined && issues.length === 0) return data;
  const more = issues.length - MOST_LINES;
  const lines = issues.slice(0, MOST_LINES).map((issue) => lineOf(issue, content));
  throw new CatalogueProblems(more > 0 ? [...lines, `and ${more} more problems`] : lines);
}

/** The most problems that are reported: a file of another kind can have a problem in each line. */
const MOST_LINES = 20;

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

function lineOf({ path, message }: Issue, content: unknown): string {
  if (path.length === 0) return message;
  const entry = valueAt(content, path.slice(0, 2));
  const id = valueAt(entry, ['id']) ?? valueAt(entry, ['productId']);
  return `${path.join('.')}: ${message}${typeof id === 'string' ? ` (in ${JSON.stringify(id)})` : ''}`;
}

/**
 * Reports each id that two entries share. A purchase names its product by the product's id in an app store, so the products' ids in a store
 * must differ too. The content may have any shape.
 */
function repeatedIds(content: unknown): Issue[] {
  return [
    ...repeatsIn(content, 'apps', ['id'], (id) => `Another entry has the id ${id}`),
    ...repeatsIn(content, 'products', ['productId'], (id) => `Another product has the productId ${id}`),
    ...STORE_NAMES.flatMap((store) =>
      repeatsIn(content, 'products', ['stores', store], (id) => `Another product is sold as ${id} in this store`),
    ),
  ];
}

function repeatsIn(content: unknown, list: string, field: readonly string[], messageFor: (id: string) => string): Issue[] {
  const entries = valueAt(content, [list]);
  const taken = new Set<string>();
  const issues: Issue[] = [];
  for (const [index, entry] of Array.isArray(entries) ? entries.entries() : []) {
    const id = valueAt(entry, field);
    if (typeof id !== 'string') continue;
    if (taken.has(id)) issues.push({ path: [list, index, ...field], message: messageFor(id) });
    taken.add(id);
  }
  return issues;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((at, name) => (typeof at === 'object' && at !== null ? (at as Record<PropertyKey, unknown>)[name] : undefined), value);
}

/** Reports each game in which a client's own score can win coins, although COIN_AUTHORITY says that only servers may give coins. */
function openlyPrized({ apps }: WrittenCatalogue): Issue[] {
  return [...apps.entries()]
    .filter(([, { season, scores }]) => (season?.prizes ?? []).length > 0 && scores !== 'server')
    .map(([index]) => ({
      path: ['apps', index, 'season', 'prizes'],
      message: 'With COIN_AUTHORITY=server a game with prizes needs "scores": "server"',
    }));
}
