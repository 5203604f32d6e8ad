import { MAX_TOKEN_LENGTH } from './store.ts';

/**
 * Whether a token is a JWS (three parts) or a JWE (five) in canonical compact form: base64url without padding, and no bit set past the last
 * byte of a part. Decoders accept other spellings of the same bytes. Without this check, a token with a changed unused bit would still
 * verify.
 */
export function isCompact(token: string, parts: 3 | 5, longest = MAX_TOKEN_LENGTH): boolean {
  if (token.length > longest) return false;
  const split = token.split('.');
  return split.length === parts && split.every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
}
