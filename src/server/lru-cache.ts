/**
 * A bounded cache in two generations. A used entry moves to the young generation; when that is full, the old one is dropped
 * whole. In effect least-recently-used, at the price of a Map look-up.
 */
export class LruCache<Key, Value> {
  readonly #generationSize: number;
  readonly #dropped: ((key: Key, value: Value) => void) | undefined;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  /**
   * Holds at most `capacity` entries.
   * @param dropped is called with each entry that makes room for others
   */
  constructor(capacity: number, dropped?: (key: Key, value: Value) => void) {
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
      const [gone, kept] = [this.#old, this.#young];
      this.#old = kept;
      this.#young = new Map([[key, value]]);
      // An entry that was used since lies in the younger generation too.
      if (this.#dropped !== undefined) for (const [old, its] of gone) if (old !== key && !kept.has(old)) this.#dropped(old, its);
      return;
    }
    this.#young.set(key, value);
  }

  /** `get`, which does not count as use. */
  peek(key: Key): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  /** All entries. Must not be used while the cache changes. */
  *entries(): Generator<[Key, Value]> {
    yield* this.#young;
    for (const entry of this.#old) if (!this.#young.has(entry[0])) yield entry;
  }
}
