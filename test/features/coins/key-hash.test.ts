import { expect, test } from 'vitest';
import { halfSipHash } from '../../../src/features/coins/key-hash.ts';

const hash = halfSipHash(Buffer.from([0, 1, 2, 3, 4, 5, 6, 7]));

test('the hash matches the hsiphash vectors of the Linux kernel (lib/siphash_kunit.c, 32 bit) for lengths 0 to 9', () => {
  const expected = [0x5814c896, 0xe7e864ca, 0xbc4b0e30, 0x01539939, 0x7e059ea6, 0x88e3d89b, 0xa0080b65, 0x9d38d9d6, 0x577999b1, 0xc839caed];
  const text = String.fromCharCode(...Array.from({ length: expected.length }, (_, index) => index));
  expect(expected.map((_, length) => hash(text.slice(0, length)) >>> 0)).toEqual(expected);
});

// The values come from an implementation in Python that reproduces the vectors above.
test.each([
  ['·', 0x63c9f4c3],
  ['a·', 0xf370501f],
  ['ab·', 0xef12f69e],
  ['abc·', 0x17ab8631],
  // A length of 128 and more sets the highest bit of the last word, as a middle dot does.
  [`${'a'.repeat(140)}·`, 0xa6f6265d],
  ['a'.repeat(200), 0xdca6a504],
])('the hash is that of the UTF-8 bytes of %s', (text, expected) => {
  expect(hash(text) >>> 0).toBe(expected);
});
