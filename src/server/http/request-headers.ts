import { bearerToken } from '../identity/bearer.ts';
import type { HttpRequest } from '../uws.ts';
import { MOST_UNREAD_BYTES } from './unread-body.ts';

/** A header that breaks a rule, so that the whole request is refused. */
export interface InvalidHeader {
  readonly field: string;
  readonly message: string;
}

/**
 * The headers that the service reads, and the rules that a request's headers must keep (RFC 9110, RFC 9112).
 *
 * This code runs for every request, so it spends time on a rule only if the rule's header was sent.
 */
export class RequestHeaders {
  contentType = '';
  contentEncoding = '';
  contentLength = '';
  cookie = '';
  authorization = '';
  origin = '';
  /** Sec-Fetch-Site: browsers send it with every request to an https or loopback address (Fetch Metadata), and no page can suppress it. */
  fetchSite = '';
  host = '';
  requestId = '';
  traceparent = '';
  userAgent = '';
  forwardedFor = '';
  forwardedProto = '';
  ifNoneMatch = '';
  accept = '';
  acceptEncoding = '';
  installId = '';
  deviceId = '';
  pairSecret = '';
  console = '';
  upgrade = '';
  websocketKey = '';
  websocketVersion = '';
  websocketProtocol = '';
  websocketExtensions = '';
  transferEncoding = '';
  connection = '';
  /** Whether uWS closes the connection after the answer. If the first Connection header has any five bytes, uWS takes it for `close`. */
  uwsCloses = false;
  /** Which of the headers that may be sent only once were seen so far. Each has one bit, such as CONTENT_TYPE. */
  #seen = 0;
  #repeated: string | undefined;

  static of(request: HttpRequest): RequestHeaders {
    const headers = new RequestHeaders();
    request.forEach((name, value) => headers.add(name, value));
    return headers;
  }

  add(name: string, value: string): void {
    switch (name) {
      case 'content-type':
        this.#once(CONTENT_TYPE, name);
        this.contentType = value;
        break;
      case 'content-length':
        this.#once(CONTENT_LENGTH, name);
        this.contentLength = value;
        break;
      case 'transfer-encoding':
        this.#once(TRANSFER_ENCODING, name);
        // uWS ignores an empty Transfer-Encoding. It is kept as `?`, so that the request is refused. Otherwise the request would seem to
        // have no such header.
        this.transferEncoding = value || '?';
        break;
      case 'host':
        this.#once(HOST, name);
        this.host = value;
        break;
      default:
        this.#addOfCaller(name, value);
    }
  }

  /** Adds a header about the caller, or about the page that sends the request. */
  #addOfCaller(name: string, value: string): void {
    switch (name) {
      case 'cookie':
        this.cookie = this.cookie === '' ? value : `${this.cookie}; ${value}`;
        break;
      case 'authorization':
        this.#once(AUTHORIZATION, name);
        this.authorization = value;
        break;
      case 'origin':
        this.#once(ORIGIN, name);
        this.origin = value;
        break;
      case 'sec-fetch-site':
        this.fetchSite = value || '?';
        break;
      case 'x-install-id':
        this.#once(INSTALL_ID, name);
        this.installId = value;
        break;
      case 'x-device-id':
        this.#once(DEVICE_ID, name);
        this.deviceId = value;
        break;
      case 'x-pair-secret':
        this.#once(PAIR_SECRET, name);
        this.pairSecret = value;
        break;
      case 'x-console':
        this.#once(CONSOLE, name);
        this.console = value;
        break;
      default:
        this.#addOfMessage(name, value);
    }
  }

  /** Adds a header about the message itself, or about the answers that the client accepts. */
  #addOfMessage(name: string, value: string): void {
    switch (name) {
      case 'x-request-id':
        this.requestId = value;
        break;
      case 'traceparent':
        // Two traceparent headers are invalid (W3C Trace Context, section 3.2). Joined to a list they are not a well-formed traceparent, so
        // both are ignored.
        this.traceparent = this.traceparent === '' ? value : `${this.traceparent},${value}`;
        break;
      case 'content-encoding':
        this.contentEncoding = this.contentEncoding === '' ? value : `${this.contentEncoding}, ${value}`;
        break;
      case 'user-agent':
        this.userAgent = value;
        break;
      case 'x-forwarded-for':
        this.forwardedFor = this.forwardedFor === '' ? value : `${this.forwardedFor},${value}`;
        break;
      case 'x-forwarded-proto':
        this.forwardedProto = value;
        break;
      case 'if-none-match':
        this.ifNoneMatch = this.ifNoneMatch === '' ? value : `${this.ifNoneMatch}, ${value}`;
        break;
      case 'accept':
        this.accept = value;
        break;
      case 'accept-encoding':
        this.acceptEncoding = value;
        break;
      default:
        this.#addOfConnection(name, value);
    }
  }

  #addOfConnection(name: string, value: string): void {
    switch (name) {
      case 'connection':
        if ((this.#seen & CONNECTION) === 0) this.uwsCloses = value.length === 5;
        this.#seen |= CONNECTION;
        this.connection = this.connection === '' ? value : `${this.connection}, ${value}`;
        break;
      case 'upgrade':
        this.upgrade = this.upgrade === '' ? value : `${this.upgrade}, ${value}`;
        break;
      case 'sec-websocket-key':
        this.#once(WEBSOCKET_KEY, name);
        this.websocketKey = value;
        break;
      case 'sec-websocket-version':
        this.#once(WEBSOCKET_VERSION, name);
        this.websocketVersion = value;
        break;
      case 'sec-websocket-protocol':
        this.websocketProtocol = value;
        break;
      case 'sec-websocket-extensions':
        this.websocketExtensions = value;
        break;
    }
  }

  /**
   * The first header that breaks a rule. The request is then answered 400, and its connection is closed.
   *
   * The end of a body must be certain (RFC 9112, section 6.3). uWS takes the first of several Content-Length headers and would run the rest
   * of the body as a second request. Older builds of uWS take any Transfer-Encoding for chunked.
   */
  get invalidHeader(): InvalidHeader | undefined {
    if (this.#repeated !== undefined) return { field: this.#repeated, message: 'Must be sent once' };
    if (this.transferEncoding !== '') {
      if ((this.#seen & CONTENT_LENGTH) !== 0) return { field: 'content-length', message: 'Must not be sent with transfer-encoding' };
      if (!CHUNKED.test(this.transferEncoding)) return { field: 'transfer-encoding', message: 'Must be chunked' };
    } else if ((this.#seen & CONTENT_LENGTH) !== 0 && !DIGITS.test(this.contentLength)) {
      return { field: 'content-length', message: 'Must be a number' };
    }
    if (this.host !== lastValidHost) {
      if (!isHost(this.host)) return { field: 'host', message: 'Must be a host name or an address, with or without a port' };
      lastValidHost = this.host;
    }
    return undefined;
  }

  /** The token of the Authorization header (`bearerToken`). With a bearer the cookie svc_session of the request is ignored. */
  get bearer(): string | undefined {
    return bearerToken(this.authorization);
  }

  /**
   * Whether this must be the last request of its connection, for one of these reasons:
   * - The client asked for it (RFC 9112, section 9.6), or uWS will close the connection.
   * - The body is chunked. uWS's reader of chunks is lax, so the body may really end later (RFC 9112, section 11.2), and the bytes of a
   * next request may belong to it.
   * - The body is so long that the service closes the connection before its end.
   */
  get endsConnection(): boolean {
    if (this.connection === 'keep-alive' || this.connection === '') return this.hasLongBody;
    return this.uwsCloses || CLOSE.test(this.connection) || this.hasLongBody;
  }

  /** Whether a body of more than MOST_UNREAD_BYTES may arrive. */
  get hasLongBody(): boolean {
    return this.transferEncoding !== '' || (this.contentLength !== '' && Number(this.contentLength) > MOST_UNREAD_BYTES);
  }

  /**
   * Whether Connection names the option `upgrade` (RFC 6455, section 4.2.1). False if uWS may close the connection after this
   * request: an upgrade would then leave a WebSocket on freed memory. `uwsCloses` counts characters and uWS counts bytes, so
   * the header must be ASCII.
   */
  get asksToUpgrade(): boolean {
    return UPGRADE.test(this.connection) && !this.endsConnection && ASCII.test(this.connection);
  }

  #once(bit: number, name: string): void {
    if ((this.#seen & bit) !== 0) this.#repeated ??= name;
    this.#seen |= bit;
  }
}

/**
 * One bit for each header that may be sent only once. If such a header comes twice, a proxy and this service could use different values
 * (RFC 9110, section 5.3).
 */
const CONTENT_TYPE = 1;
const CONTENT_LENGTH = 2;
const TRANSFER_ENCODING = 4;
const AUTHORIZATION = 8;
const ORIGIN = 16;
const HOST = 32;
const INSTALL_ID = 64;
const DEVICE_ID = 128;
const WEBSOCKET_KEY = 256;
const WEBSOCKET_VERSION = 512;
const PAIR_SECRET = 1024;
const CONSOLE = 4096;
/** The bit of Connection. This header may be sent several times; its values make one list. */
const CONNECTION = 2048;

/** Without the flag `u`, ASCII letters match ASCII letters only. `toLowerCase` would turn U+212A, the Kelvin sign, into `k`. */
const CHUNKED = /^chunked$/i;
const DIGITS = /^[0-9]+$/;

const CLOSE = /(?:^|[\s,])close(?:$|[\s,;])/i;
const UPGRADE = /(?:^|[\s,])upgrade(?:$|[\s,])/i;
const ASCII = /^[\t\x20-\x7e]*$/;

/**
 * The Host header that was last found valid. Most requests name the same host, and skipping the check saves 0.05 µs, 1 % of /health
 * (mitata).
 */
let lastValidHost: string | undefined;

/**
 * Whether a Host header is well-formed (RFC 9110, section 7.2): `uri-host [ ":" port ]`, with RFC 3986's host. An empty host is invalid for
 * http (section 4.2.1).
 */
function isHost(host: string): boolean {
  return host.length <= MAX_HOST_LENGTH && HOST_AND_PORT.test(host);
}

/** Characters of the longest Host header: a DNS name of 253, and a port. */
const MAX_HOST_LENGTH = 259;

/** Matches the value of a Host header: a name or an address, IPv6 in brackets, with or without a port (RFC 9110, section 7.2). */
const HOST_AND_PORT = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})+)(?::\d{0,5})?$/i;
