/**
 * The hash with which the index of a ledger finds an idempotency key: HalfSipHash-1-3 (Aumasson and Bernstein; Linux's `hsiphash`), which
 * was made for hash tables whose keys come from strangers. Which idempotency keys collide depends on a secret, and no answer of the service
 * reveals a collision. `ledger.lua` computes the same hash.
 *
 * A cheaper hash would let a client fill one bucket. With a sum such as Java's, `Aa` and `BB` collide for every start value: 107,000
 * idempotency keys made of these two texts would be in one bucket, and Redis would take a quarter of a second to split it. With a
 * polynomial modulo a power of two, Thue–Morse texts collide for every factor. For a UUID, HalfSipHash costs less than 0.1 µs more than
 * such a sum (`npm run bench:micro`: "coins: hash of a key").
 */
export type KeyHash = (key: string) => number;

/** The highest bit of each of four bytes. */
const NOT_ASCII = 0x80808080;

/** The length of the secret of the hash: 64 bits. */
export const SECRET_BYTES = 8;

/**
 * @returns a function that hashes the UTF-8 bytes of a text. All characters of the text must be below U+0100, as those of any idempotency
 * key are. The hash is a signed integer of 32 bits, because Redis packs a signed one into five bytes, and an unsigned one into nine.
 */
export function halfSipHash(secret: Buffer): KeyHash {
  const k0 = secret.readInt32LE(0);
  const k1 = secret.readInt32LE(4);
  /** Hashes the characters of a text as bytes. Undefined for a text that is not ASCII, unless `isBytes`. */
  const hashOf = (key: string, isBytes: boolean): number | undefined => {
    // The variables of HalfSipHash's state are named as in the paper of the algorithm.
    let [v0, v1, v2, v3] = [k0, k1, k0 ^ 0x6c796765, k1 ^ 0x74656462];
    const { length } = key;
    // Each turn takes a word of four characters. The last word holds the remaining characters and the length. Three more turns finish the
    // hash.
    const words = (length >> 2) + 1;
    let codes = 0;
    for (let turn = 0; turn < words + 3; turn++) {
      let word = 0;
      if (turn < words - 1) {
        const at = turn << 2;
        word = key.charCodeAt(at) | (key.charCodeAt(at + 1) << 8) | (key.charCodeAt(at + 2) << 16) | (key.charCodeAt(at + 3) << 24);
        codes |= word;
      } else if (turn === words - 1) {
        for (let at = length & ~3; at < length; at++) word |= key.charCodeAt(at) << ((at & 3) << 3);
        codes |= word;
        word |= length << 24;
      } else if (turn === words) {
        v2 ^= 0xff;
      }
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    return (codes & NOT_ASCII) !== 0 && !isBytes ? undefined : v1 ^ v3;
  };
  return (key) => hashOf(key, false) ?? hashOf(Buffer.from(key).toString('latin1'), true)!;
}
