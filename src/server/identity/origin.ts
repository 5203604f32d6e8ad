/**
 * The web origins whose pages may use the service with cookies: the service's own origin, the origins in ALLOWED_ORIGINS, and in
 * development the origins of this machine.
 */
export class Origins {
  readonly #allowed: Set<string>;
  readonly #own: string | undefined;
  readonly #allowsLoopback: boolean;

  /**
   * @param publicUrl the public address of the service, if a proxy changes the Host header
   * @param allowsLoopback pages of this machine may call, from any port: a developer's game has a server of its own
   */
  constructor(allowedOrigins: readonly string[], publicUrl?: string, allowsLoopback = false) {
    this.#allowed = new Set(allowedOrigins);
    this.#own = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
    this.#allowsLoopback = allowsLoopback;
  }

  /** The origins in ALLOWED_ORIGINS. */
  get listed(): readonly string[] {
    return [...this.#allowed];
  }

  /** Whether the Origin header names a foreign site: neither the service's own origin nor one that may use it. */
  isForeign(origin: string, host: string): boolean {
    return !this.#isAllowed(origin) && !this.isOwn(origin, host);
  }

  /**
   * Whether the Origin header names the service itself. An origin is the service's own if its host equals the Host header. The
   * scheme does not count, because TLS may end at a proxy. A request without Origin is not foreign: it comes from another
   * client than a browser, or from a plain navigation.
   */
  isOwn(origin: string, host: string): boolean {
    if (origin === '' || origin === this.#own) return true;
    // Most origins equal the Host header letter for letter. Any other origin is parsed, after a check of its length and letters:
    // kilobytes of percent-encoded marks would take 10 ms to parse.
    if (host !== '' && host.length < MAX_LENGTH && (origin === `https://${host}` || origin === `http://${host}`))
      return AUTHORITY.test(host);
    if (!ORIGIN.test(origin) || !AUTHORITY.test(host) || !URL.canParse(origin)) return false;
    const { protocol, host: site } = new URL(origin);
    // Parsed with the same scheme, both drop a default port that only one of them names.
    const own = `${protocol}//${host}`;
    return URL.canParse(own) && new URL(own).host === site;
  }

  /**
   * CORS headers for an allowed origin (Fetch standard). Other origins get `Vary` too, so that no cache mixes the answers up.
   * All requests without an allowed origin get the same array, so that the pipeline can keep the header lines made of it.
   */
  corsHeaders(origin: string): readonly (readonly [string, string])[] {
    if (this.#allowed.size === 0 && !this.#allowsLoopback) return NONE;
    if (!this.#isAllowed(origin)) return VARY;
    return [
      ...VARY,
      ['access-control-allow-origin', origin],
      ['access-control-allow-credentials', 'true'],
      ['access-control-expose-headers', 'x-request-id, retry-after, etag'],
    ];
  }

  preflightHeaders(origin: string): readonly (readonly [string, string])[] {
    if (!this.#isAllowed(origin)) return this.corsHeaders(origin);
    return [
      ...this.corsHeaders(origin),
      ['access-control-allow-methods', 'GET, HEAD, POST'],
      ['access-control-allow-headers', 'authorization, content-type, traceparent, x-device-id, x-install-id, x-pair-secret, x-request-id'],
      ['access-control-max-age', '600'],
    ];
  }

  #isAllowed(origin: string): boolean {
    return this.#allowed.has(origin) || (this.#allowsLoopback && LOOPBACK.test(origin));
  }
}

/**
 * The origin of a page of this machine, as browsers spell it (URL standard). Whole names only: `localhost.evil.example` is
 * another machine. The Host header does not count: after DNS rebinding a foreign page has a name that leads here, but its
 * Origin is still that name.
 */
const LOOPBACK = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::[1-9]\d{0,4})?$/;

/** A DNS name has at most 253 characters (RFC 1035). The rest is room for a port. */
const MAX_LENGTH = 300;

/** A host as browsers spell it: a name in ASCII (punycode), an IPv4 address, or an IPv6 address in brackets; with or without a port. */
const AUTHORITY = new RegExp(`^[\\w.:[\\]-]{1,${MAX_LENGTH}}$`);
const ORIGIN = new RegExp(`^[a-z][a-z0-9+.-]{0,30}://[\\w.:[\\]-]{1,${MAX_LENGTH}}$`, 'i');

const NONE = [] as const;
const VARY = [['vary', 'Origin']] as const;
