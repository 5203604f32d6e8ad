/**
 * A bounded cache in two generations. A used entry moves to the young generation. When the young generation is full, the old one is dropped
 * as a whole, and the young one becomes the old one. The effect is nearly that of a least-recently-used cache, at the price of a Map
 * look-up.
 */
export class LruCache<Key, Value> {
  readonly #generationSize: number;
  readonly #dropped: ((entries: Generator<[Key, Value]>) => void) | undefined;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  /**
   * Holds at most `capacity` entries.
   * @param dropped is called with the entries that are dropped at once, up to half the capacity. It may read the generator later
   */
  constructor(capacity: number, dropped?: (entries: Generator<[Key, Value]>) => void) {
    this.#generationSize = Math.ceil(capacity / 2);
    this.#dropped = dropped;
  }

  get(key: Key): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: Key, value: Value): void {
    if (this.#young.size >= this.#generationSize && !this.#young.has(key)) {
      const gone = this.#old;
      this.#old = this.#young;
      this.#young = new Map([[key, value]]);
      return this.#dropped?.(entriesOf(gone, this.#old, key));
    }
    this.#young.set(key, value);
  }

  /** Reads an entry as `get` does, but the entry does not count as used. */
  peek(key: Key): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  /** All entries. The cache must not change while the caller iterates. */
  *entries(): Generator<[Key, Value]> {
    yield* this.#young;
    for (const entry of this.#old) if (!this.#young.has(entry[0])) yield entry;
  }
}

/** The entries of a dropped generation that are not in the younger one too, because they were not used since. */
function* entriesOf<Key, Value>(gone: Map<Key, Value>, kept: Map<Key, Value>, added: Key): Generator<[Key, Value]> {
  for (const entry of gone) if (entry[0] !== added && !kept.has(entry[0])) yield entry;
}
