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
   * @param allowsLoopback whether pages of this machine may call, from any port: a developer's game has a server of its own
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

  /** Whether the Origin header names a foreign site, which is neither the service's own origin nor an allowed origin. */
  isForeign(origin: string, host: string): boolean {
    return !this.#isAllowed(origin) && !this.isOwn(origin, host);
  }

  /**
   * Whether the Origin header names the service itself. An origin is the service's own if its host equals the Host header. The scheme is
   * not compared, because TLS may end at a proxy. A request without Origin counts as the service's own, because it comes from a client that
   * is no browser, or from a plain navigation.
   */
  isOwn(origin: string, host: string): boolean {
    if (origin === '' || origin === this.#own) return true;
    // Most origins equal the Host header letter for letter. Other origins are parsed after a check of length and letters, because parsing
    // kilobytes of percent-encoded marks would take 10 ms.
    if (host !== '' && host.length < MAX_LENGTH && (origin === `https://${host}` || origin === `http://${host}`))
      return AUTHORITY.test(host);
    if (!ORIGIN.test(origin) || !AUTHORITY.test(host) || !URL.canParse(origin)) return false;
    const { protocol, host: site } = new URL(origin);
    // The Host header is parsed with the scheme of the origin. So a default port is dropped if only one of the two names it.
    const own = `${protocol}//${host}`;
    return URL.canParse(own) && new URL(own).host === site;
  }

  /**
   * CORS headers for an allowed origin (Fetch standard). Other origins get `Vary` too, so that no cache gives the answer for one origin to
   * another. All requests without an allowed origin get the same array object. The pipeline recognises this object, and reuses the header
   * lines made from it.
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
 * Matches the origin of a page of this machine, as browsers spell it (URL standard). The whole name must match, because
 * `localhost.evil.example` is another machine. The Host header does not show this: after DNS rebinding a foreign page has a name that leads
 * to this machine, but its Origin is still the foreign name.
 */
const LOOPBACK = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::[1-9]\d{0,4})?$/;

/** The most characters of a host that is parsed. A DNS name has at most 253 characters (RFC 1035); the rest is room for a port. */
const MAX_LENGTH = 300;

/**
 * Matches a host as browsers spell it: a name in ASCII (punycode), an IPv4 address, or an IPv6 address in brackets; with or without a port.
 */
const AUTHORITY = new RegExp(`^[\\w.:[\\]-]{1,${MAX_LENGTH}}$`);

/** Matches an origin whose host has at most MAX_LENGTH characters. */
const ORIGIN = new RegExp(`^[a-z][a-z0-9+.-]{0,30}://[\\w.:[\\]-]{1,${MAX_LENGTH}}$`, 'i');

const NONE = [] as const;
const VARY = [['vary', 'Origin']] as const;
