/** The part of the table that may be full. Above it the table doubles. */
const FULLEST = 0.5;

/** A set of texts that keeps 64 bits of each text: 16 to 32 bytes of memory for a text of any length. */
export class Fingerprints {
  /** The table: two words of 32 bits for each place. A place with 0, 0 is empty. */
  #words = new Uint32Array(32);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(text: string): void {
    const [high, low] = fingerprint(text);
    const at = this.#placeOf(high, low);
    if (this.#words[at] !== 0 || this.#words[at + 1] !== 0) return;
    this.#put(at, high, low);
    if (++this.#size * 2 > this.#words.length * FULLEST) this.#grow();
  }

  /** Answers true by mistake for about one in 2^64 texts that are not in the set. */
  has(text: string): boolean {
    const at = this.#placeOf(...fingerprint(text));
    return this.#words[at] !== 0 || this.#words[at + 1] !== 0;
  }

  #placeOf(high: number, low: number): number {
    const mask = this.#words.length / 2 - 1;
    for (let place = low & mask; ; place = (place + 1) & mask) {
      const [heldHigh, heldLow] = [this.#words[place * 2], this.#words[place * 2 + 1]];
      if ((heldHigh === high && heldLow === low) || (heldHigh === 0 && heldLow === 0)) return place * 2;
    }
  }

  #put(at: number, high: number, low: number): void {
    this.#words[at] = high;
    this.#words[at + 1] = low;
  }

  #grow(): void {
    const old = this.#words;
    this.#words = new Uint32Array(old.length * 2);
    for (let at = 0; at < old.length; at += 2) {
      const [high, low] = [old[at]!, old[at + 1]!];
      if (high !== 0 || low !== 0) this.#put(this.#placeOf(high, low), high, low);
    }
  }
}

/** 64 bits of a text, never 0, 0: two hashes in the manner of FNV-1a with different primes, and the last step of MurmurHash3. */
function fingerprint(text: string): [high: number, low: number] {
  let [high, low] = [0x811c9dc5, 0x9e3779b9];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    high = Math.imul(high ^ unit, 0x01000193);
    low = Math.imul(low ^ unit, 0x85ebca6b);
  }
  return [finished(high ^ (low >>> 15)), finished(low ^ (high >>> 13)) || 1];
}

function finished(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
