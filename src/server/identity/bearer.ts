/**
 * The token of an Authorization header with the scheme Bearer, in any case (RFC 6750, section 2.1; RFC 9110, section 11.1). Undefined
 * without a header, or with another scheme: a proxy may send `Basic` for a purpose of its own. A bearer without a token, or with bytes that
 * no token has, still gives a text, which does not verify: the request must not be treated like a request without a bearer.
 */
export function bearerToken(authorization: string): string | undefined {
  if (authorization === '' || !BEARER.test(authorization)) return undefined;
  return authorization.slice('Bearer'.length).replace(/^ +/, '');
}

/** Matches the scheme Bearer. The scheme ends before the first character that no token of RFC 9110 (section 5.6.2) has. */
const BEARER = /^bearer(?![\w!#$%&'*+.^`|~-])/i;
