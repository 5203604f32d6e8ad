import { randomBytes } from 'node:crypto';
import { addressText, type ClientAddresses } from './address.ts';
import type { UpgradeCork } from './upgrade-cork.ts';
import type { HttpRequest, HttpResponse, UpgradeContext, UpgradeResponse } from './uws.ts';

/**
 * One request and its response: the only place that knows uWS's HTTP objects.
 *
 * uWS's request is dead once the route handler returns, its response once the client is gone, and body chunks once their
 * callback returns. So everything is copied at once, `onAborted` is set before anything else, and nothing is written
 * after an abort or a second time.
 */
export class Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers = new RequestHeaders();
  readonly requestId: string;
  readonly startedAt = performance.now();
  /** Answered, or its client gone: nothing more can be written. */
  finished = false;
  /** When the answer (or, while `readingBody`, the body) is due at the latest, on the clock of `performance.now()`. */
  deadline = Infinity;
  readingBody = false;
  /** Answered, but the client has not read it all yet. */
  writing = false;
  /** Waits for news rather than for Redis: takes no place among requests in flight. */
  parked = false;
  onParked: (() => void) | undefined;
  /** A write may have reached Redis: what a missed deadline has to say. */
  mayHaveWritten = false;
  /** Close the connection after the answer. */
  closing = false;
  /** Called once, when answered or aborted. Status 0: the client went away. */
  onFinished: ((status: number) => void) | undefined;

  readonly #response: HttpResponse;
  #onGone: (() => void) | undefined;

  readonly #addresses: ClientAddresses;
  #peer: string | undefined;
  #address: string | undefined;

  constructor(response: HttpResponse, request: HttpRequest, addresses: ClientAddresses) {
    this.#response = response;
    this.#addresses = addresses;
    response.onAborted(() => this.#finish(0));
    this.method = request.getMethod();
    this.path = request.getUrl();
    this.query = request.getQuery() ?? '';
    collecting = this.headers;
    request.forEach(collect);
    const given = this.headers.requestId;
    this.requestId = given !== '' && WELL_FORMED_REQUEST_ID.test(given) ? given : nextRequestId();
  }

  /**
   * The peer's address: the client's, or that of a proxy in front of it. Asked for when it is wanted, for most requests
   * want none where no limits count them, and it is one of the dearer questions to uWS.
   */
  get peer(): string {
    // A response that ended must not be asked any more.
    return (this.#peer ??= this.finished ? 'unknown' : addressText(this.#response.getRemoteAddress()));
  }

  /** The client's address. */
  get address(): string {
    return (this.#address ??= this.#addresses.resolve(this.peer, this.headers.forwardedFor));
  }

  get isHead(): boolean {
    return this.method === 'head';
  }

  /** Reads the body whole and hands over a copy, or undefined as soon as it passes `limitBytes`. */
  readBody(limitBytes: number, done: (body: Buffer | undefined) => void): void {
    let chunks: Buffer[] | undefined;
    let sizeBytes = 0;
    this.readingBody = true;
    this.#response.onData((chunk, isLast) => {
      if (!this.readingBody || this.finished) return;
      sizeBytes += chunk.byteLength;
      if (isLast || sizeBytes > limitBytes) this.readingBody = false;
      if (sizeBytes > limitBytes) return done(undefined);
      // The chunk's memory is uWS's own. A body in one piece is parsed before this callback returns: no copy needed.
      if (isLast && chunks === undefined) return done(Buffer.from(chunk));
      (chunks ??= []).push(Buffer.from(Buffer.from(chunk)));
      if (isLast) done(Buffer.concat(chunks, sizeBytes));
    });
  }

  /** Answers, in one write. Does nothing after an abort or an earlier answer. */
  send(status: number, mediaType: string, body: string, headers: readonly (readonly [string, string])[]): void {
    if (this.finished || this.writing) return;
    const response = this.#response;
    const bodiless = status === 304 || status === 204;
    let done = true;
    response.cork(() => {
      // 200 is what uWS says by itself.
      if (status !== 200) response.writeStatus(statusLines[status] ?? String(status));
      // One call for all headers, joined as they are on the wire, where uWS writes them as they come: calls into it are
      // what an answer costs. No value holds a line break: none but the request id and an allowed origin comes from outside.
      let lines = this.requestId;
      if (!bodiless) lines += `\r\ncontent-type: ${mediaType}`;
      for (const [name, value] of headers) lines += `\r\n${name}: ${value}`;
      response.writeHeader('x-request-id', lines);
      // These two have no length; uWS would send one of 2^63 for undefined.
      if (bodiless) response.endWithoutBody();
      else if (this.isHead) response.endWithoutBody(Buffer.byteLength(body), this.closing);
      else if (this.closing) response.end(body, true);
      else done = this.#tryEnd(status, body);
    });
    if (done) this.#finish(status);
  }

  /**
   * Ends with as much as the client takes now. While it does not read the rest, the response is pending, and uWS closes a
   * connection that asks for more meanwhile: answers that nobody reads would else pile up without bound.
   */
  #tryEnd(status: number, body: string): boolean {
    const totalBytes = Buffer.byteLength(body);
    const [, done] = this.#response.tryEnd(body, totalBytes);
    if (done) return true;
    const bytes = Buffer.from(body);
    this.writing = true;
    this.park(WRITE_DEADLINE_MS);
    this.#response.onWritable((offset) => {
      const [ok, finished] = this.#response.tryEnd(bytes.subarray(offset), totalBytes);
      if (finished) this.#finish(status);
      return ok;
    });
    return false;
  }

  /** Sets how long the answer may take from now on. */
  dueIn(milliseconds: number): void {
    this.deadline = performance.now() + milliseconds;
  }

  park(milliseconds: number): void {
    this.dueIn(milliseconds);
    if (this.parked || this.finished) return;
    this.parked = true;
    this.onParked?.();
  }

  /** Cuts the connection without a word. */
  cut(): void {
    if (this.finished) return;
    this.#response.close();
  }

  /** Calls back when the client goes away before it was answered. */
  onGone(callback: () => void): void {
    if (this.finished) return callback();
    this.#onGone = callback;
  }

  /** Answers an upgrade request by becoming a WebSocket. Only where `headers.asksToUpgrade`. */
  upgrade(userData: object, context: UpgradeContext, cork: UpgradeCork): void {
    if (this.finished) return;
    const { websocketKey, websocketProtocol, websocketExtensions } = this.headers;
    const response = this.#response as UpgradeResponse;
    this.#finish(101);
    cork.run(() => response.upgrade(userData, websocketKey, websocketProtocol, websocketExtensions, context));
  }

  #finish(status: number): void {
    if (this.finished) return;
    this.finished = true;
    if (status === 0) this.#onGone?.();
    this.onFinished?.(status);
  }
}

/** The headers that anything here looks at, and what is wrong with the request's framing. */
export class RequestHeaders {
  contentType = '';
  contentLength = '';
  cookie = '';
  authorization = '';
  origin = '';
  host = '';
  requestId = '';
  userAgent = '';
  forwardedFor = '';
  forwardedProto = '';
  ifNoneMatch = '';
  installId = '';
  deviceId = '';
  websocketKey = '';
  websocketProtocol = '';
  websocketExtensions = '';
  transferEncoding = '';
  #connection: string[] | undefined;
  #contentLengths = 0;

  add(name: string, value: string): void {
    switch (name) {
      case 'content-type':
        this.contentType = value;
        break;
      case 'content-length':
        this.contentLength = value;
        this.#contentLengths++;
        break;
      case 'transfer-encoding':
        this.transferEncoding += value.trim() || '?';
        break;
      case 'cookie':
        this.cookie = this.cookie === '' ? value : `${this.cookie}; ${value}`;
        break;
      case 'authorization':
        this.authorization = value;
        break;
      case 'origin':
        this.origin = value;
        break;
      case 'host':
        this.host = value;
        break;
      case 'x-request-id':
        this.requestId = value;
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
        this.ifNoneMatch = value;
        break;
      case 'x-install-id':
        this.installId = value;
        break;
      case 'sec-websocket-key':
        this.websocketKey = value;
        break;
      case 'sec-websocket-protocol':
        this.websocketProtocol = value;
        break;
      case 'sec-websocket-extensions':
        this.websocketExtensions = value;
        break;
      case 'connection':
        (this.#connection ??= []).push(value.toLowerCase());
        break;
      case 'x-device-id':
        this.deviceId = value;
        break;
    }
  }

  /**
   * Whether it says `Connection: Upgrade` (RFC 6455, section 4.2.1). uWS does not look, takes any value of five letters for
   * `close`, and upgrading such a request after an await leaves a WebSocket on memory that is given back.
   */
  get asksToUpgrade(): boolean {
    const connection = this.#connection ?? [];
    return connection.some((value) => /\bupgrade\b/.test(value)) && connection.every((value) => value.length !== 5);
  }

  /**
   * Where a body ends must not be open to doubt (RFC 9112, section 6.3): uWS takes the first of several Content-Length
   * headers and would run the rest of the body as a second request, and takes any Transfer-Encoding for chunked.
   */
  get framingIsAmbiguous(): boolean {
    if (this.transferEncoding !== '') return this.#contentLengths > 0 || this.transferEncoding.toLowerCase() !== 'chunked';
    return this.#contentLengths > 0 && (this.#contentLengths > 1 || !/^\d+$/.test(this.contentLength));
  }
}

/** Whose headers are being read. uWS hands them over before `forEach` returns, so one function does for all requests. */
let collecting: RequestHeaders;
const collect = (name: string, value: string): void => collecting.add(name, value);

/** A client that takes longer than this to read an answer is cut off. */
const WRITE_DEADLINE_MS = 30_000;

const WELL_FORMED_REQUEST_ID = /^[\w.-]{1,128}$/;

const requestIdPrefix = `${randomBytes(6).toString('base64url').replace(/[_-]/g, 'x')}-`;
let requestCount = 0;

/** Unique without a random draw each: one random prefix a process, then a count. */
function nextRequestId(): string {
  return requestIdPrefix + (++requestCount).toString(36);
}

const statusLines: Record<number, string> = {
  200: '200 OK',
  204: '204 No Content',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  410: '410 Gone',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  422: '422 Unprocessable Content',
  429: '429 Too Many Requests',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
};
