import { hash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { SettingError } from '../../config.ts';
import { Encoded } from '../../server/http/endpoint.ts';
import { SELLING_STORES, type SellingStore } from '../../stores/store.ts';
import type { CatalogueProduct } from './product.ts';
import { CatalogueFile, type ScoreAuthority, type ScoreOrder } from './model.ts';

/** Interval of the file's polls. A changed file is read once two polls in a row saw the same state, so not while it is being written. */
const POLL_MS = 500;

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

/**
 * The catalogue of CATALOGUE_FILE, read at start and again when the file changes. After an invalid edit the old catalogue
 * stays, and the log gets the problem. The file is polled, because editors and volume mounts replace files in ways that
 * file-system events miss.
 */
export class Catalogue {
  readonly #file: string | undefined;
  readonly #log: Logger;
  #edition: Edition;
  #read = '';
  #seen = '';
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /**
   * @param file undefined: the sample catalogue
   * @throws SettingError that names the file and the first bad place in it
   */
  constructor(file: string | undefined, log: Logger) {
    this.#log = log;
    this.#file = file === undefined ? undefined : resolve(file);
    if (this.#file === undefined) {
      this.#edition = parseEdition(readFileSync(SAMPLE, 'utf8'));
      return;
    }
    try {
      // The signature comes before the read: the next poll then sees a change in between.
      this.#read = this.#seen = signatureOf(statSync(this.#file, { bigint: true }));
      this.#edition = parseEdition(readFileSync(this.#file, 'utf8'));
    } catch (error) {
      throw new SettingError(`CATALOGUE_FILE ${this.#file}: ${(error as Error).message}`);
    }
    this.#pollLater(this.#file);
  }

  /** Problems of CATALOGUE_FILE, for the check of the settings: at most one line. */
  static problemsOf(file: string | undefined): string[] {
    if (file === undefined) return [];
    try {
      parseEdition(readFileSync(resolve(file), 'utf8'));
      return [];
    } catch (error) {
      return [`CATALOGUE_FILE ${resolve(file)}: ${(error as Error).message}`];
    }
  }

  /** The current catalogue. */
  get edition(): Edition {
    return this.#edition;
  }

  /** Whether a game's lower (`asc`) or higher (`desc`) scores are better. */
  orderOf(game: string): ScoreOrder {
    return this.#edition.orderOf(game);
  }

  hasGame(game: string): boolean {
    return this.#edition.hasGame(game);
  }

  /** Who may submit scores of a game. A game outside the catalogue takes them from clients. */
  scoreAuthorityOf(game: string): ScoreAuthority {
    return this.#edition.scoreAuthorityOf(game);
  }

  /** The product that an app store sells under this id of its own. Undefined: the catalogue has none. */
  productSoldAs(store: SellingStore, sku: string): CatalogueProduct | undefined {
    return this.#edition.productSoldAs(store, sku);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #pollLater(file: string): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.#poll(file).then(() => this.#pollLater(file)), POLL_MS).unref();
  }

  async #poll(file: string): Promise<void> {
    const signature = await stat(file, { bigint: true }).then(signatureOf, (error: Error) => error.message);
    const isStable = signature === this.#seen;
    this.#seen = signature;
    if (!isStable || signature === this.#read) return;
    this.#read = signature;
    try {
      this.#edition = parseEdition(await readFile(file, 'utf8'));
      this.#log.info({ file }, 'catalogue changed');
    } catch (error) {
      this.#log.error({ file, problem: (error as Error).message }, 'the catalogue file is invalid: the old catalogue stays');
    }
  }
}

function signatureOf({
  dev,
  ino,
  size,
  mtimeNs,
  ctimeNs,
}: {
  dev: bigint;
  ino: bigint;
  size: bigint;
  mtimeNs: bigint;
  ctimeNs: bigint;
}): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

/** @throws Error that names the first bad place: `apps.2.order: Only a game has an order` */
function parseEdition(text: string): Edition {
  const parsed = CatalogueFile.safeParse(JSON.parse(text.replace(/^\uFEFF/, '')));
  if (parsed.success) return new Edition(parsed.data);
  const { path, message } = parsed.error.issues[0]!;
  throw new Error(path.length === 0 ? message : `${path.join('.')}: ${message}`);
}
