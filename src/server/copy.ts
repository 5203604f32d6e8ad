/**
 * A copy of a text of Latin-1 characters. V8 makes a part of a text, such as a match or a slice, by pointing into the whole, which so
 * stays in memory as long as the part. Whatever outlives its request keeps a copy.
 */
export function copyOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
