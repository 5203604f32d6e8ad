/**
 * Stores texts by key. localStorage and React Native's AsyncStorage fit unchanged. Each function may return a promise. Other programs may
 * use the same store, under other keys.
 */
export interface Store {
  getItem(key: string): string | null | undefined | Promise<string | null | undefined>;
  setItem(key: string, value: string): unknown;
  removeItem(key: string): unknown;
  /** All keys of the store. Without this function the client takes the store's own properties as keys, as localStorage has them. */
  getAllKeys?(): readonly string[] | Promise<readonly string[]>;
}

/** The page's localStorage. Undefined if there is none, or if the browser forbids it. */
export function pageStore(): Store | undefined {
  try {
    // `document` is checked first: Node has a localStorage too, but any access to it prints a warning.
    return 'document' in globalThis ? localStorage : undefined;
  } catch {
    return undefined;
  }
}

/** A store that cannot fail: values that the given store does not accept are kept in memory. */
export type SafeStore = ReturnType<typeof safeStore>;

/** Makes a store that cannot fail. @param warn called once, at the first failure of the store */
export function safeStore(store: Store | null | undefined, warn: (message: string) => void) {
  /** The values that the store has not accepted. Undefined: the store has not removed the key yet. */
  const memory = new Map<string, string | undefined>();
  let hasWarned = store === null;
  /** The keys that could not be read. They are not written either, because a write could destroy a value in the store. */
  const unread = new Set<unknown>();
  const safely = async <T>(work: (from: Store) => T | Promise<T>, key?: string): Promise<T | undefined> => {
    try {
      return await work(store!);
    } catch (error) {
      unread.add(key);
      if (!hasWarned) warn(`coinop: data in memory: ${store ? error : 'no store'}`);
      hasWarned = true;
    }
    return undefined;
  };
  return {
    /** Whether the store has refused to read the key. */
    isUnread: (key: string): boolean => unread.has(key),

    get: async (key: string): Promise<string | undefined> =>
      memory.has(key) ? memory.get(key) : ((await safely((from) => from.getItem(key), key)) ?? undefined),

    /** Stores a value. Without a value the key is removed. */
    async put(key: string, value?: string): Promise<void> {
      memory.set(key, value);
      await safely(async (from) => {
        if (unread.has(key)) return;
        await (value === undefined ? from.removeItem(key) : from.setItem(key, value));
        memory.delete(key);
      });
      if (!store && value === undefined) memory.delete(key);
    },

    keys: async (prefix: string): Promise<string[]> =>
      [...new Set([...memory.keys(), ...((await safely((from) => from.getAllKeys?.() ?? Object.keys(from))) ?? [])])].filter((key) =>
        key.startsWith(prefix),
      ),
  };
}

/** Runs work while no other tab with the same store runs work under the same name. */
export type Exclusive = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** A random text of 24 characters of an alphabet of 36: 124 random bits. */
export const randomText = (): string => Array.from(crypto.getRandomValues(new Uint8Array(24)), (byte) => (byte % 36).toString(36)).join('');
