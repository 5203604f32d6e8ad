/** The web origins whose pages may use the service with cookies: the service's own origin, and those in ALLOWED_ORIGINS. */
export class Origins {
  readonly #allowed: Set<string>;
  readonly #own: string | undefined;

  /** @param publicUrl the public address of the service, if a proxy changes the Host header */
  constructor(allowedOrigins: readonly string[], publicUrl?: string) {
    this.#allowed = new Set(allowedOrigins);
    this.#own = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  }

  /**
   * Whether the Origin header names a foreign site. An origin is the service's own if its host equals the Host header. The
   * scheme does not count, because TLS may end at a proxy. A request without Origin is not foreign: it comes from another
   * client than a browser, or from a plain navigation.
   */
  isForeign(origin: string, host: string): boolean {
    if (origin === '' || origin === this.#own || this.#allowed.has(origin)) return false;
    // Most origins equal the Host header letter for letter. Any other origin is parsed, after a check of its length and letters:
    // kilobytes of percent-encoded marks would take 10 ms to parse.
    if (host !== '' && host.length < MAX_LENGTH && (origin === `https://${host}` || origin === `http://${host}`))
      return !AUTHORITY.test(host);
    if (!ORIGIN.test(origin) || !AUTHORITY.test(host) || !URL.canParse(origin)) return true;
    const { protocol, host: site } = new URL(origin);
    // Parsed with the same scheme, both drop a default port that only one of them names.
    const own = `${protocol}//${host}`;
    return !URL.canParse(own) || new URL(own).host !== site;
  }

  /** CORS headers for an allowed origin (Fetch standard). Other origins get `Vary` too, so that no cache mixes the answers up. */
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

/** A DNS name has at most 253 characters (RFC 1035). The rest is room for a port. */
const MAX_LENGTH = 300;

/** A host as browsers spell it: a name in ASCII (punycode), an IPv4 address, or an IPv6 address in brackets; with or without a port. */
const AUTHORITY = new RegExp(`^[\\w.:[\\]-]{1,${MAX_LENGTH}}$`);
const ORIGIN = new RegExp(`^[a-z][a-z0-9+.-]{0,30}://[\\w.:[\\]-]{1,${MAX_LENGTH}}$`, 'i');

const NONE = [] as const;
const VARY = [['vary', 'Origin']] as const;
