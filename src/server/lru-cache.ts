/**
 * A bounded cache in two generations. A used entry moves to the young generation; when that is full, the old one is dropped
 * whole. In effect least-recently-used, at the price of a Map look-up.
 */
export class LruCache<Key, Value> {
  readonly #generationSize: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  /** Holds at most `capacity` entries. */
  constructor(capacity: number) {
    this.#generationSize = Math.ceil(capacity / 2);
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
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }
}
