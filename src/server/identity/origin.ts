/** Which web origins may use the service from a browser with cookies: its own, and those in ALLOWED_ORIGINS. */
export class Origins {
  readonly #allowed: Set<string>;
  readonly #own: string | undefined;

  /** @param publicUrl where people reach the service, if a proxy changes the Host header */
  constructor(allowedOrigins: readonly string[], publicUrl?: string) {
    this.#allowed = new Set(allowedOrigins);
    this.#own = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  }

  /**
   * Whether an Origin header names a foreign site. Its own is the one whose host is the Host header; the scheme does not
   * count, since TLS may end at a proxy. No Origin: not a browser, or a plain navigation.
   */
  isForeign(origin: string, host: string): boolean {
    if (origin === '' || origin === this.#own || this.#allowed.has(origin)) return false;
    // Most are the Host header's own, letter for letter. Any other is parsed, but no more of it than a host's name can be: a
    // parser works on kilobytes of percent-encoded marks for 10 ms.
    if (host !== '' && host.length < LONGEST && (origin === `https://${host}` || origin === `http://${host}`)) return !AUTHORITY.test(host);
    if (!ORIGIN.test(origin) || !AUTHORITY.test(host) || !URL.canParse(origin)) return true;
    const { protocol, host: site } = new URL(origin);
    // Parsed with the same scheme, a default port that only one of the two spells out drops away.
    const own = `${protocol}//${host}`;
    return !URL.canParse(own) || new URL(own).host !== site;
  }

  /** CORS headers for a listed origin (Fetch standard). `Vary` also on refusals, so that no cache mixes them up. */
  corsHeaders(origin: string): readonly (readonly [string, string])[] {
    if (this.#allowed.size === 0) return NONE;
    if (!this.#allowed.has(origin)) return VARY;
    return [
      ...VARY,
      ['access-control-allow-origin', origin],
      ['access-control-allow-credentials', 'true'],
      ['access-control-expose-headers', 'x-request-id, retry-after, etag'],
    ];
  }

  preflightHeaders(origin: string): readonly (readonly [string, string])[] {
    if (!this.#allowed.has(origin)) return this.corsHeaders(origin);
    return [
      ...this.corsHeaders(origin),
      ['access-control-allow-methods', 'GET, HEAD, POST'],
      ['access-control-allow-headers', 'content-type, x-request-id, x-install-id, x-device-id'],
      ['access-control-max-age', '600'],
    ];
  }
}

/** A DNS name has 253 characters at most (RFC 1035), a scheme and a port few. */
const LONGEST = 300;

/** As browsers spell them: a name in ASCII (punycode), an address, or one in brackets, with or without a port. */
const AUTHORITY = new RegExp(`^[\\w.:[\\]-]{1,${LONGEST}}$`);
const ORIGIN = new RegExp(`^[a-z][a-z0-9+.-]{0,30}://[\\w.:[\\]-]{1,${LONGEST}}$`, 'i');

const NONE = [] as const;
const VARY = [['vary', 'Origin']] as const;
