/**
 * The value of a cookie in a Cookie header (RFC 6265), or undefined. A cookie that is sent twice with different values is ignored: a
 * sibling domain or a deeper path may have set one of them, and the header does not tell which.
 */
export function cookieValue(header: string, name: string): string | undefined {
  if (header === '' || !header.includes(name)) return undefined;
  // If the header has a single cookie, no list of pairs is made. That takes 0.05 µs instead of 0.13.
  if (!header.includes(';')) return valueIn(header, name);
  let found: string | undefined;
  for (const pair of header.split(';')) {
    const value = valueIn(pair, name);
    if (value === undefined) continue;
    if (found !== undefined && found !== value) return undefined;
    found = value;
  }
  return found;
}

function valueIn(pair: string, name: string): string | undefined {
  const equals = pair.indexOf('=');
  return equals >= 0 && pair.slice(0, equals).trim() === name ? pair.slice(equals + 1).trim() : undefined;
}

/** The request and the settings that decide the attributes of the cookies which an answer sets. */
export interface CookieScope {
  /**
   * Whether browsers send the cookie from pages of other sites. `none`: browsers send it if it is Secure, and keep a separate one for each
   * embedding site (https://developer.mozilla.org/docs/Web/Privacy/Guides/Privacy_sandbox/Partitioned_cookies).
   */
  readonly sameSite: 'lax' | 'none';
  /**
   * Whether a `lax` cookie is Secure: true unless the service runs in development over plain http. A cookie with `none` is always Secure.
   */
  readonly secure: boolean;
  /** The Cookie header of the request, which shows the cookies that the browser has now. */
  readonly held: string;
}

/**
 * The Set-Cookie values that set this cookie: HttpOnly, and with the attributes of its scope.
 *
 * Under the same name a browser may hold two cookies, one for each kind of SameSite. After a change of COOKIE_SAME_SITE it would send both.
 * `cookieValue` ignores two cookies that differ, so the user could not sign in again. So the first of the values deletes the cookie of the
 * other kind. With `none` this value is sent to each browser that sent a cookie of this name, with `lax` only to browsers that sent two.
 */
export function setCookie(
  name: string,
  value: string,
  { maxAgeSeconds, path = '/' }: { maxAgeSeconds: number; path?: string },
  { sameSite, secure, held }: CookieScope,
): string[] {
  const cookie = `${name}=${value}; Path=${path}; Max-Age=${maxAgeSeconds}; HttpOnly`;
  const deletion = `${name}=; Path=${path}; Max-Age=0; HttpOnly; SameSite=None; Secure`;
  if (sameSite === 'none') {
    const set = `${cookie}; SameSite=None; Secure; Partitioned`;
    return countOf(name, held) > 0 ? [deletion, set] : [set];
  }
  const set = `${cookie}; SameSite=Lax${secure ? '; Secure' : ''}`;
  return countOf(name, held) > 1 ? [`${deletion}; Partitioned`, set] : [set];
}

function countOf(name: string, header: string): number {
  return header.includes(name) ? header.split(';').filter((pair) => valueIn(pair, name) !== undefined).length : 0;
}
