/** Tokens of the store are a few hundred bytes to a few KiB; the bound only keeps nonsense out. */
export const MAX_TOKEN_LENGTH = 8192;

/**
 * Whether this is a JWS (three parts) or JWE (five) as it would be written: base64url without padding, and no bits set
 * past the last byte. Decoders take other spellings of the same bytes, so that a token with a byte flipped there would
 * still verify.
 */
export function isCompact(token: string, parts: 3 | 5): boolean {
  if (token.length > MAX_TOKEN_LENGTH) return false;
  const split = token.split('.');
  return split.length === parts && split.every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
}
