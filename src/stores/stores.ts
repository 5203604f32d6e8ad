import type { Config } from '../config.ts';
import type { AppStore, InstallProofs, OpeningOptions, StoreCheck, StoreDeclaration } from './store.ts';
import { table } from './store-table.ts';

type Row = (typeof table)[number];

const rows: readonly StoreDeclaration[] = table;

/**
 * The name of an app store, as it appears in a request, in a product of the catalogue and in a purchase. The sandbox sells under Google's
 * name.
 */
export type StoreName = Row['name'];

export const STORE_NAMES = rows.map(({ name }) => name) as unknown as NamesOf<typeof table>;

type NamesOf<Rows extends readonly { readonly name: string }[]> = { readonly [I in keyof Rows]: Rows[I]['name'] };

/** The store for purchases of subscriptions that do not name their store. */
export const FIRST_STORE: StoreName = STORE_NAMES[0];

const opened = rows.filter(({ open }) => open !== undefined).map(({ name }) => name as StoreName);

/** The names by which operators name accounts of app stores' users. */
export const SIGN_IN_NAMES = [...opened, 'sandbox'] as const;

type All<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer Every) => void ? Every : never;

/** The fields of a request that prove a purchase in any of the stores. */
export const proofFields = Object.assign({}, ...rows.map(({ proofs }) => proofs)) as All<Row['proofs']>;

/** The row of a store. */
export function rowOf(name: string): StoreDeclaration {
  return rows.find((row) => row.name === name) ?? rows[0]!;
}

/** The stores that STORE names: a list, `sandbox` for all stores with the sandbox in their place, or `off`. */
function namedBy({ STORE }: Config): readonly StoreDeclaration[] {
  if (STORE === 'sandbox') return rows.filter(({ open }) => open !== undefined);
  return STORE.split(',').flatMap((name) => rows.filter((row) => row.name === name && row.open !== undefined));
}

export function checkStores(config: Config): StoreCheck {
  const { STORE } = config;
  const none = { problems: [], missing: [], provesInstalls: STORE === 'sandbox' };
  if (STORE === 'sandbox' || STORE === 'off') return none;
  const named = namedBy(config);
  if (new Set(named).size < STORE.split(',').length) {
    return { ...none, problems: [`STORE must be ${opened.join(', ')}, sandbox or off`] };
  }
  const checks = named.map((row) => row.check!(config));
  return {
    problems: checks.flatMap(({ problems }) => problems),
    missing: checks.flatMap(({ missing }) => missing),
    provesInstalls: checks.some(({ provesInstalls }) => provesInstalls),
  };
}

/**
 * The app stores that the setting STORE names. Must be called only if `checkStores` found no problem.
 * @param sandbox the settings that stand in for those of the stores with STORE=sandbox
 */
export function openStores(config: Config, options: OpeningOptions, sandbox: object | undefined): Stores {
  return new Stores(namedBy(config).map((row) => row.open!(config, options, sandbox)));
}

/** The open app stores. */
export class Stores {
  readonly all: readonly AppStore[];

  constructor(all: readonly AppStore[]) {
    this.all = all;
  }

  named(name: string): AppStore | undefined {
    return this.all.find((store) => store.name === name);
  }

  /** The sales of one kind in a store. Undefined if the store is not open, or if its settings are missing. */
  salesOf<Kind extends 'subscriptions' | 'products'>(name: string, kind: Kind): AppStore[Kind] {
    const sales = this.named(name)?.[kind];
    return sales === undefined || sales.packageNames.length === 0 ? undefined : sales;
  }

  /** The proofs of installs. Undefined: no store has them. */
  get installs(): InstallProofs | undefined {
    return this.all.find(({ installs }) => installs !== undefined)?.installs;
  }
}
