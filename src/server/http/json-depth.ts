/**
 * The most levels to which the JSON of a client may nest. 16 KB of brackets cost 1.5 ms to parse and 18 ms to encode again. Even a limit of
 * 64 levels would be too high: 16 KB could then cost 1.4 ms, because JSON.stringify searches for circular references at each level. No
 * game's state comes near 32 levels.
 */
export const MAX_JSON_DEPTH = 32;

/**
 * The most lists and objects in the JSON of a client. Each list or object costs an allocation. No room state of 8 KiB exceeds the bound: 8
 * KiB have room for 4,096 pairs of brackets, without the commas that they would need between them.
 */
export const MAX_JSON_CONTAINERS = 4096;

interface JsonBounds {
  readonly depth: number;
  readonly containers: number;
}

export const JSON_BOUNDS: JsonBounds = { depth: MAX_JSON_DEPTH, containers: MAX_JSON_CONTAINERS };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The bit that, once set, makes `[` equal to `{`, and `]` equal to `}`. */
const CASE_BIT = 0x20;
const OPENING = 0x5b | CASE_BIT;
const CLOSING = 0x5d | CASE_BIT;

/**
 * Finds JSON that exceeds these bounds before it is parsed. Takes a nanosecond per byte. The bytes need not be JSON.
 * @returns the field of the outermost object within which the JSON exceeds the limit, '' if there is no such field; undefined if the JSON
 * exceeds no limit
 */
export function tooNestedField(bytes: Uint8Array, most: JsonBounds = JSON_BOUNDS): string | undefined {
  // A shorter body cannot nest too deep.
  if (bytes.length <= 2 * most.depth) return undefined;
  let depth = 0;
  let containers = 0;
  let fieldStart = 0;
  let fieldEnd = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      const start = at + 1;
      at = endOfString(bytes, start);
      // The last string before a value is the name of the field with this value.
      if (depth === 1) {
        fieldStart = start;
        fieldEnd = at;
      }
    } else if ((byte | CASE_BIT) === OPENING) {
      if (++depth > most.depth || ++containers > most.containers)
        return Buffer.from(bytes.subarray(fieldStart, Math.min(fieldEnd, fieldStart + 64))).toString();
    } else if ((byte | CASE_BIT) === CLOSING) depth--;
  }
  return undefined;
}

/** The index of the quote that ends the string, or the end of the bytes. */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}
