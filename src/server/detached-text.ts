/**
 * A copy of a text of Latin-1 characters. V8 represents a part of a text, such as a match or a slice, as a pointer into the whole text. The
 * whole text then stays in memory for as long as the part does. Copy a part of a request before it is kept for longer than the request.
 */
export function detached(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
