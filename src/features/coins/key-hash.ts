/**
 * Which bucket of a ledger holds an idempotency key: HalfSipHash-1-3 (Aumasson and Bernstein; Linux's `hsiphash`), made for
 * hash tables whose keys come from strangers. Which keys collide depends on the secret, and nothing shows it: of a sum such
 * as Java's, `Aa` and `BB` collide whatever it starts with, and 107,000 keys made of them fill one bucket, which Redis then
 * splits for a quarter of a second. A polynomial modulo a power of two falls to Thue–Morse texts whatever its factor.
 * For a UUID it costs less than 0.1 µs more than such a sum. `ledger.lua` computes the same.
 */
export type KeyHash = (key: string) => number;

/** 64 bits. */
export const SECRET_BYTES = 8;

/** @returns a hash of ASCII texts; the ledger uses its lower 16 bits */
export function halfSipHash(secret: Buffer): KeyHash {
  const k0 = secret.readInt32LE(0);
  const k1 = secret.readInt32LE(4);
  return (key) => {
    // The state of the algorithm has these names in its paper.
    let [v0, v1, v2, v3] = [k0, k1, k0 ^ 0x6c796765, k1 ^ 0x74656462];
    const { length } = key;
    // One word of four characters a turn; the last one holds what is left and the length. Then three turns to finish.
    const words = (length >> 2) + 1;
    for (let turn = 0; turn < words + 3; turn++) {
      let word = 0;
      if (turn < words - 1) {
        const at = turn << 2;
        word = key.charCodeAt(at) | (key.charCodeAt(at + 1) << 8) | (key.charCodeAt(at + 2) << 16) | (key.charCodeAt(at + 3) << 24);
      } else if (turn === words - 1) {
        word = length << 24;
        for (let at = length & ~3; at < length; at++) word |= key.charCodeAt(at) << ((at & 3) << 3);
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
    return (v1 ^ v3) >>> 0;
  };
}
