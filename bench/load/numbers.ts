/** A growing list of numbers in a typed array, which creates less garbage than an array of boxed numbers. */
export class Numbers<Kind extends Float64Array | Uint32Array> {
  readonly #kind: new (size: number) => Kind;
  #values: Kind;
  size = 0;

  constructor(kind: new (size: number) => Kind) {
    this.#kind = kind;
    this.#values = new kind(1024);
  }

  push(value: number): void {
    if (this.size === this.#values.length) {
      const larger = new this.#kind(2 * this.size);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.size++] = value;
  }

  values(): Kind {
    return this.#values.slice(0, this.size) as Kind;
  }
}
