import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { z } from 'zod';
import { Encoded } from '../../server/http/endpoint.ts';
import { WatchedFile } from '../../server/watched-file.ts';
import { SELLING_STORES, type SellingStore } from '../../stores/store.ts';
import type { CatalogueProduct } from './product.ts';
import { CatalogueFile, type ScoreAuthority, type ScoreOrder } from './model.ts';

const SAMPLE = new URL('sample.json', import.meta.url);

/** A reply that stays the same while the file does. */
export class Listing {
  readonly body: Encoded;
  readonly etag: string;

  constructor(reply: object) {
    this.body = Encoded.ok(reply);
    this.etag = `"${hash('sha256', this.body.text, 'base64url').slice(0, 22)}"`;
  }
}

/** The catalogue of one read of the file, encoded once. */
class Edition {
  readonly apps: Listing;
  readonly products: Listing;
  readonly #orders: ReadonlyMap<string, ScoreOrder>;
  readonly #games: ReadonlySet<string>;
  readonly #serverScored: ReadonlySet<string>;

  readonly #sold: ReadonlyMap<string, CatalogueProduct>;

  constructor({ apps, products }: z.output<typeof CatalogueFile>) {
    this.apps = new Listing({ apps, count: apps.length });
    this.products = new Listing({ products, count: products.length });
    this.#games = new Set(apps.filter(({ kind }) => kind === 'game').map(({ id }) => id));
    this.#serverScored = new Set(apps.filter(({ scores }) => scores === 'server').map(({ id }) => id));
    this.#orders = new Map(apps.flatMap(({ id, order }) => (order === undefined ? [] : [[id, order] as const])));
    const skus = (product: CatalogueProduct) => SELLING_STORES.map((store) => [`${store} ${product.stores[store]}`, product] as const);
    this.#sold = new Map(products.flatMap(skus));
  }

  orderOf(game: string): ScoreOrder {
    return this.#orders.get(game) ?? 'desc';
  }

  productSoldAs(store: SellingStore, sku: string): CatalogueProduct | undefined {
    return this.#sold.get(`${store} ${sku}`);
  }

  hasGame(game: string): boolean {
    return this.#games.has(game);
  }

  scoreAuthorityOf(game: string): ScoreAuthority {
    return this.#serverScored.has(game) ? 'server' : 'client';
  }
}

/** The catalogue of CATALOGUE_FILE, or without one the sample that ships. */
export class Catalogue {
  readonly #file: WatchedFile<Edition> | undefined;
  readonly #sample: Edition | undefined;

  /**
   * @param path undefined: the sample catalogue
   * @throws SettingError that names the file and the first bad place in it
   */
  constructor(path: string | undefined, log: Logger) {
    if (path === undefined) this.#sample = parseEdition(readFileSync(SAMPLE, 'utf8'));
    else this.#file = new WatchedFile({ setting: 'CATALOGUE_FILE', path, parse: parseEdition, named: 'catalogue', log });
  }

  /** Problems of CATALOGUE_FILE, for the check of the settings: at most one line. */
  static problemsOf(path: string | undefined): string[] {
    return WatchedFile.problemsOf('CATALOGUE_FILE', path, parseEdition);
  }

  /** The current catalogue. */
  get edition(): Edition {
    return this.#file?.content ?? this.#sample!;
  }

  /** Whether a game's lower (`asc`) or higher (`desc`) scores are better. */
  orderOf(game: string): ScoreOrder {
    return this.edition.orderOf(game);
  }

  hasGame(game: string): boolean {
    return this.edition.hasGame(game);
  }

  /** Who may submit scores of a game. A game outside the catalogue takes them from clients. */
  scoreAuthorityOf(game: string): ScoreAuthority {
    return this.edition.scoreAuthorityOf(game);
  }

  /** The product that an app store sells under this id of its own. Undefined: the catalogue has none. */
  productSoldAs(store: SellingStore, sku: string): CatalogueProduct | undefined {
    return this.edition.productSoldAs(store, sku);
  }

  close(): void {
    this.#file?.close();
  }
}

/** @throws Error that names the first bad place: `apps.2.order: Only a game has an order` */
function parseEdition(text: string): Edition {
  const parsed = CatalogueFile.safeParse(JSON.parse(text));
  if (parsed.success) return new Edition(parsed.data);
  const { path, message } = parsed.error.issues[0]!;
  throw new Error(path.length === 0 ? message : `${path.join('.')}: ${message}`);
}
