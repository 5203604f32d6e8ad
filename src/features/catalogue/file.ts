import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { Encoded } from '../../server/http/endpoint.ts';
import { WatchedFile } from '../../server/watched-file.ts';
import { STORE_NAMES, type StoreName } from '../../stores/stores.ts';
import type { CatalogueProduct } from './product-shape.ts';
import { seasonPrize, type ScoreAuthority, type ScoreOrder, type SeasonPeriod } from './model.ts';
import { readCatalogue, type CoinAuthority, type WrittenCatalogue } from './file-shape.ts';

/** The seasons of a game. */
export interface GameSeasons {
  readonly period: SeasonPeriod;
  readonly payAfterMs: number;
  readonly keep: number;
  /** The prizes of each season, in the format of `seasonPrize`, separated by blanks. '' without prizes. */
  readonly prizes: string;
}

const DEFAULT_KEPT = 12;

const SAMPLE = new URL('sample.json', import.meta.url);

/**
 * The encoded reply of an endpoint that lists the catalogue, and the reply's ETag. The reply and its ETag change only when the catalogue's
 * file changes.
 */
export class Listing {
  readonly body: Encoded;
  readonly etag: string;

  constructor(reply: object) {
    this.body = Encoded.ok(reply);
    this.etag = `"${hash('sha256', this.body.text, 'base64url').slice(0, 22)}"`;
  }
}

/** The catalogue as one read of its file gave it. The replies that list it are encoded only once. */
class Edition {
  readonly apps: Listing;
  readonly products: Listing;
  readonly #orders: ReadonlyMap<string, ScoreOrder>;
  readonly #games: ReadonlySet<string>;
  readonly #serverScored: ReadonlySet<string>;
  readonly #seasons: ReadonlyMap<string, GameSeasons>;

  readonly #sold: ReadonlyMap<string, CatalogueProduct>;

  constructor({ apps, products }: WrittenCatalogue) {
    this.apps = new Listing({ apps, count: apps.length });
    this.products = new Listing({ products, count: products.length });
    this.#games = new Set(apps.filter(({ kind }) => kind === 'game').map(({ id }) => id));
    this.#serverScored = new Set(apps.filter(({ scores }) => scores === 'server').map(({ id }) => id));
    this.#seasons = new Map(
      apps.flatMap(({ id, season }) => {
        if (season === undefined) return [];
        const { period, payAfterSeconds = 0, keep = DEFAULT_KEPT, prizes = [] } = season;
        return [[id, { period, payAfterMs: payAfterSeconds * 1000, keep, prizes: prizes.map(seasonPrize.write).join(' ') }] as const];
      }),
    );
    this.#orders = new Map(apps.flatMap(({ id, order }) => (order === undefined ? [] : [[id, order] as const])));
    const skus = (product: CatalogueProduct) => STORE_NAMES.map((store) => [`${store} ${product.stores[store]}`, product] as const);
    this.#sold = new Map(products.flatMap(skus));
  }

  orderOf(game: string): ScoreOrder {
    return this.#orders.get(game) ?? 'desc';
  }

  productSoldAs(store: StoreName, sku: string): CatalogueProduct | undefined {
    return this.#sold.get(`${store} ${sku}`);
  }

  get games(): readonly string[] {
    return [...this.#games];
  }

  hasGame(game: string): boolean {
    return this.#games.has(game);
  }

  scoreAuthorityOf(game: string): ScoreAuthority {
    return this.#serverScored.has(game) ? 'server' : 'client';
  }

  seasonsOf(game: string): GameSeasons | undefined {
    return this.#seasons.get(game);
  }

  /** The games with prizes whose scores any client may submit. */
  get openlyPrized(): string[] {
    return [...this.#seasons].flatMap(([game, { prizes }]) => (prizes !== '' && !this.#serverScored.has(game) ? [game] : []));
  }
}

/** The catalogue of CATALOGUE_FILE. Without this setting, it is the sample in `sample.json`. */
export class Catalogue {
  readonly #file: WatchedFile<Edition> | undefined;
  readonly #sample: Edition | undefined;
  readonly #log: Logger;

  /**
   * @param path the file. Undefined: the sample catalogue
   * @param authority COIN_AUTHORITY. With `server`, a game with prizes must take scores from servers only
   * @throws SettingError that names the file and every problem in it
   */
  constructor(path: string | undefined, log: Logger, authority: CoinAuthority = 'client') {
    this.#log = log;
    const parse = parserOf(authority);
    if (path === undefined) this.#sample = parse(readFileSync(SAMPLE, 'utf8'));
    else
      this.#file = new WatchedFile({ setting: 'CATALOGUE_FILE', path, parse, changed: () => this.warnOfPrizes(), named: 'catalogue', log });
  }

  /** The problems of CATALOGUE_FILE, each as a line, for the check of the settings. */
  static problemsOf({ CATALOGUE_FILE, COIN_AUTHORITY }: Pick<Config, 'CATALOGUE_FILE' | 'COIN_AUTHORITY'>): string[] {
    return WatchedFile.problemsOf('CATALOGUE_FILE', CATALOGUE_FILE, parserOf(COIN_AUTHORITY));
  }

  /** The catalogue as the last successful read of the file gave it. */
  get edition(): Edition {
    return this.#file?.content ?? this.#sample!;
  }

  /** Whether a game's lower (`asc`) or higher (`desc`) scores are better. */
  orderOf(game: string): ScoreOrder {
    return this.edition.orderOf(game);
  }

  /** The ids of the games in the catalogue. */
  get games(): readonly string[] {
    return this.edition.games;
  }

  hasGame(game: string): boolean {
    return this.edition.hasGame(game);
  }

  /** Who may submit scores of a game: any client, or only a server key. A game outside the catalogue takes scores from any client. */
  scoreAuthorityOf(game: string): ScoreAuthority {
    return this.edition.scoreAuthorityOf(game);
  }

  /** The product that an app store sells under this id of the store. Undefined: the catalogue has no such product. */
  productSoldAs(store: StoreName, sku: string): CatalogueProduct | undefined {
    return this.edition.productSoldAs(store, sku);
  }

  /** The seasons of a game. Undefined for a game whose board has no seasons. */
  seasonsOf(game: string): GameSeasons | undefined {
    return this.edition.seasonsOf(game);
  }

  /** Writes a warning to the log if there are games whose prizes any client can win with an invented score. */
  warnOfPrizes(): void {
    const games = this.edition.openlyPrized;
    if (games.length > 0)
      this.#log.warn({ games }, 'the seasons of these games pay prizes for scores that any client can submit: give them scores: "server"');
  }

  close(): void {
    this.#file?.close();
  }
}

function parserOf(authority: CoinAuthority): (text: string) => Edition {
  return (text) => new Edition(readCatalogue(text, authority));
}
