/**
 * Keeps texts by key, like localStorage and React Native's AsyncStorage, which both fit as they are. Each function may return a
 * promise. Other programs may use other keys of the same store.
 */
export interface Store {
  getItem(key: string): string | null | undefined | Promise<string | null | undefined>;
  setItem(key: string, value: string): unknown;
  removeItem(key: string): unknown;
  /** Without it, the keys are the store's own properties, as those of localStorage are. */
  getAllKeys?(): readonly string[] | Promise<readonly string[]>;
}

/** The page's localStorage. Undefined where there is none, or where the browser forbids it. */
export function pageStore(): Store | undefined {
  try {
    // Node has a localStorage too, which warns when it is touched.
    return 'document' in globalThis ? localStorage : undefined;
  } catch {
    return undefined;
  }
}

/** A store that cannot fail: what the given one does not take is kept in memory. */
export type SafeStore = ReturnType<typeof safeStore>;

/** @param warn called once, when something could only be kept in memory */
export function safeStore(store: Store | null | undefined, warn: (message: string) => void) {
  /** Values that the store has not taken. Undefined: the store has not removed the key. */
  const memory = new Map<string, string | undefined>();
  let hasWarned = store === null;
  /** Keys that could not be read. To write one would destroy a value that the store may have. */
  const unread = new Set<unknown>();
  const safely = async <T>(work: (from: Store) => T | Promise<T>, key?: string): Promise<T | undefined> => {
    try {
      return await work(store!);
    } catch (error) {
      unread.add(key);
      if (!hasWarned) warn(`coinop keeps data in memory: ${store ? error : 'no store'}`);
      hasWarned = true;
    }
    return undefined;
  };
  return {
    get: async (key: string): Promise<string | undefined> =>
      memory.has(key) ? memory.get(key) : ((await safely((from) => from.getItem(key), key)) ?? undefined),

    /** Without a value the key is removed. */
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

/** Runs work while no other tab with the same store runs any under the same name. */
export type Exclusive = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** 24 random characters of 36: 124 bits. */
export const randomText = (): string => Array.from(crypto.getRandomValues(new Uint8Array(24)), (byte) => (byte % 36).toString(36)).join('');
