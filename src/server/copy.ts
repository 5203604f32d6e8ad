/**
 * A copy of a text of Latin-1 characters. V8 represents a part of a text, such as a match or a slice, as a pointer into the whole text,
 * which then stays in memory as long as the part. A part that outlives its request has to be a copy.
 */
export function copyOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
