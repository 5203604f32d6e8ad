/**
 * How deep the JSON that clients send may nest. Parsing 16 KB of brackets costs 1.5 ms and encoding them again 18 ms, and
 * 16 KB that nest 64 deep over and over 1.4 ms, for JSON.stringify looks for circles at each level. No game's state comes
 * near this depth.
 */
export const MAX_JSON_DEPTH = 32;

/** How many lists and objects it may hold: more than the largest state has room for. Each of them is an allocation. */
export const MAX_JSON_CONTAINERS = 4096;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `[` and `{`, `]` and `}` differ in this bit alone. */
const CASE_BIT = 0x20;
const OPENING = 0x5b | CASE_BIT;
const CLOSING = 0x5d | CASE_BIT;

/**
 * Looks for nesting that is too deep, and for too many lists and objects, before anything is parsed: at a nanosecond a byte. Whether it is JSON is not its concern.
 * @returns the field of the outermost object that holds it, '' where there is none, or undefined where all is well
 */
export function tooNestedField(bytes: Uint8Array): string | undefined {
  // So many brackets have no room in it: most bodies.
  if (bytes.length <= 2 * MAX_JSON_DEPTH) return undefined;
  let depth = 0;
  let containers = 0;
  let fieldStart = 0;
  let fieldEnd = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      const start = at + 1;
      at = endOfString(bytes, start);
      // A field's name is the last text before its value.
      if (depth === 1) {
        fieldStart = start;
        fieldEnd = at;
      }
    } else if ((byte | CASE_BIT) === OPENING) {
      if (++depth > MAX_JSON_DEPTH || ++containers > MAX_JSON_CONTAINERS)
        return Buffer.from(bytes.subarray(fieldStart, Math.min(fieldEnd, fieldStart + 64))).toString();
    } else if ((byte | CASE_BIT) === CLOSING) depth--;
  }
  return undefined;
}

/** Where the quote is that ends the string, or the end of it all. */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}
