/**
 * Idempotency keys of ledger entries that the service itself makes: `prize·pebble-drop·2026-W48`. `CoinKey` does not allow the middle dot,
 * so no caller can send such a key.
 */
const DOT = '·';

/** The most characters of an idempotency key: as many as `CoinKey` allows a caller. */
const MOST_CHARACTERS = 255;

const PART = /^[\x20-\x7e]+$/;

/**
 * @param parts the key without its type. Printable ASCII, and no part is empty
 * @throws RangeError for other parts, or a key of more than 255 characters
 */
export function serviceKey(type: string, parts: readonly string[]): string {
  const key = [type, ...parts].join(DOT);
  if (parts.length === 0 || !parts.every((part) => PART.test(part)) || key.length > MOST_CHARACTERS)
    throw new RangeError(`"${key}" is no key of an entry of the service: parts are printable ASCII, and 255 characters at most in sum`);
  return key;
}

/** Whether this is the idempotency key of an entry that the service itself made. */
export function isServiceKey(key: string): boolean {
  return key.includes(DOT);
}
