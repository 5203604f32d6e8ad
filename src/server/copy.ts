/**
 * A copy of a text of Latin-1 characters. V8 makes a part of a text, such as a match or a slice, by pointing into the whole, so the whole
 * stays in memory as long as the part. What outlives its request has to be a copy.
 */
export function copyOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
