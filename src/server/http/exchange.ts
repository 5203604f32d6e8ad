import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { addressGroup, addressText, type ClientAddresses } from '../address.ts';
import { Held, type Admission } from '../admission.ts';
import { answerAndLinger } from './lingering-close.ts';
import { RequestHeaders } from './request-headers.ts';
import { statusLine } from './response-headers.ts';
import type { Reserved } from '../reservations.ts';
import type { UpgradeCork } from '../live/upgrade-cork.ts';
import type { HttpRequest, HttpResponse, UpgradeContext, UpgradeResponse } from '../uws.ts';

/** What all requests of a route share. Made once a route, so that a request creates no closures. */
export interface ExchangeRoute {
  /** False saves a question to uWS, a fifth of a microsecond. */
  readonly readsQuery: boolean;
  readonly admission: Admission;
  /** Called once an exchange, after its answer or the client's abort (status 0). */
  finished(exchange: Exchange, status: number): void;
}

/**
 * One request and its response. Only this file touches the HTTP objects of uWS.
 *
 * The request object is invalid after the route handler returns, the response object after an abort, a body chunk after its
 * callback. So the constructor copies everything, and `send` does nothing after an abort or an earlier answer.
 *
 * While the route handler runs, uWS holds the socket corked and reports no abort. An exchange that is answered by then needs
 * neither a cork nor an abort handler, which together cost 1 µs of the 5 µs that a request costs beyond bare uWS. For every
 * other exchange the server calls `leaveHandler`.
 */
export class Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: RequestHeaders;
  readonly requestId: string;
  /** On the clock of `performance.now()`, in milliseconds, as is `#deadline`. */
  readonly startedAt = performance.now();
  #deadline = Infinity;
  #isFinished = false;
  #isReading = false;
  #isWriting = false;
  #isLast = false;
  #hasPlace = false;
  #mayHaveWritten = false;
  #held: Held | undefined;
  #bodyIsIn = false;
  readonly #response: HttpResponse;
  readonly #route: ExchangeRoute;
  readonly #addresses: ClientAddresses;
  #isInHandler = true;
  #onGone: (() => void) | undefined;
  #peer: string | undefined;
  #address: string | undefined;
  #group: string | undefined;

  constructor(response: HttpResponse, request: HttpRequest, route: ExchangeRoute, addresses: ClientAddresses) {
    this.#response = response;
    this.#route = route;
    this.#addresses = addresses;
    this.method = request.getMethod();
    this.path = request.getUrl();
    this.query = route.readsQuery ? (request.getQuery() ?? '') : '';
    this.headers = RequestHeaders.of(request);
    const given = this.headers.requestId;
    this.requestId = given !== '' && WELL_FORMED_REQUEST_ID.test(given) ? given : nextRequestId();
  }

  /** Answered, or aborted by the client. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** Finished, or with an answer that the client has not read whole. Nothing more can be sent. */
  get isAnswered(): boolean {
    return this.#isFinished || this.#isWriting;
  }

  /** Waits for the client: to send the rest of its body, or to read the rest of the answer. */
  get waitsForClient(): boolean {
    return this.#isReading || this.#isWriting;
  }

  get isReading(): boolean {
    return this.#isReading;
  }

  /** @param now on the clock of `performance.now()` */
  isOverdue(now: number): boolean {
    return now >= this.#deadline;
  }

  /** Whether a write of this request may have reached Redis. A 503 then says `outcome:"unknown"`. */
  get mayHaveWritten(): boolean {
    return this.#mayHaveWritten;
  }

  /** From now on a write may reach Redis. */
  mayWrite(): void {
    this.#mayHaveWritten = true;
  }

  /** Makes this the last request of its connection. */
  closeAfterAnswer(): void {
    this.#isLast = true;
  }

  /** Takes a place among the requests in flight, and keeps it until the exchange parks or finishes. False: there is none left. */
  takePlace(): boolean {
    this.#hasPlace = this.#route.admission.takePlace();
    return this.#hasPlace;
  }

  /** Reserves these for the client's address. A second call does nothing. 0 on success, else milliseconds to wait. */
  reserve(kinds: readonly Reserved[]): number | Promise<number> {
    if (this.#held !== undefined) return 0;
    this.#held = new Held(this.#route.admission, this.group);
    return this.#held.reserveAll(kinds);
  }

  /** What `reserve` has reserved. */
  get reserved(): Held | undefined {
    return this.#held;
  }

  /** Must be called before the route handler returns, unless the exchange has finished: uWS ends the process otherwise. */
  leaveHandler(): void {
    this.#isInHandler = false;
    this.#response.onAborted(() => this.#finish(0));
  }

  /**
   * The peer's address: the client's, or that of a proxy in front of it. Asked for when it is wanted, for most requests
   * want none where no limits count them, and it is one of the dearer questions to uWS.
   */
  get peer(): string {
    // A response that ended must not be asked any more.
    return (this.#peer ??= this.#isFinished ? 'unknown' : addressText(this.#response.getRemoteAddress()));
  }

  /** The client's address. */
  get address(): string {
    return (this.#address ??= this.#addresses.resolve(this.peer, this.headers.forwardedFor));
  }

  /** What limits count the client by. */
  get group(): string {
    return (this.#group ??= addressGroup(this.address));
  }

  get isHead(): boolean {
    return this.method === 'head';
  }

  /** Reads the body whole and hands over a copy, or undefined as soon as it passes `limitBytes`. */
  readBody(limitBytes: number, done: (body: Buffer | undefined) => void): void {
    let chunks: Buffer[] | undefined;
    let sizeBytes = 0;
    this.#isReading = true;
    this.#response.onData((chunk, isLast) => {
      if (!this.#isReading || this.#isFinished) return;
      sizeBytes += chunk.byteLength;
      if (isLast || sizeBytes > limitBytes) this.#isReading = false;
      if (sizeBytes > limitBytes) return done(undefined);
      this.#bodyIsIn = isLast;
      // Bytes of another request may follow in this very segment. A turn later uWS has met them, and has closed the connection.
      if (isLast && this.#isLast) {
        const body = Buffer.concat([...(chunks ?? []), Buffer.from(chunk)]);
        return void setImmediate(() => this.#isFinished || done(body));
      }
      // The chunk's memory is uWS's own. A body in one piece is parsed before this callback returns: no copy needed.
      if (isLast && chunks === undefined) return done(Buffer.from(chunk));
      (chunks ??= []).push(Buffer.from(Buffer.from(chunk)));
      if (isLast) done(Buffer.concat(chunks, sizeBytes));
    });
  }

  /** Whatever else comes of the body is dropped, and the connection closes after the answer. */
  stopReading(): void {
    this.#isReading = false;
    this.#isLast = true;
  }

  /**
   * Answers, in one write. Does nothing after an abort or an earlier answer.
   * @param headers as `headerLines` makes them
   */
  send(status: number, body: string | Buffer, headers: string): void {
    if (this.#isFinished || this.#isWriting) return;
    if (!this.#isLast) return this.#answer(status, body, headers);
    // A turn later: while no answer is out, uWS runs nothing that follows in the same bytes, and closes the connection instead.
    this.#isWriting = true;
    this.dueIn(WRITE_DEADLINE_MS);
    setImmediate(() => this.#isFinished || this.#answer(status, body, headers));
  }

  #answer(status: number, body: string | Buffer, headers: string): void {
    const isBodiless = status === 304 || status === 204;
    // uWS cannot close after an answer without a body.
    if (this.#isLast && (isBodiless || this.isHead || this.#moreMayCome)) {
      const head = { statusLine: statusLine(status), headers: `x-request-id: ${this.requestId}${headers}` };
      answerAndLinger(this.#response, head, isBodiless ? undefined : body, this.isHead);
      return this.#finish(status);
    }
    let done = true;
    if (this.#isInHandler) done = this.#write(status, body, headers, isBodiless);
    else this.#response.cork(() => (done = this.#write(status, body, headers, isBodiless)));
    if (done) this.#finish(status);
  }

  /** @returns whether the client took all of it */
  #write(status: number, body: string | Buffer, headers: string, isBodiless: boolean): boolean {
    const response = this.#response;
    // 200 is what uWS says by itself.
    if (status !== 200) response.writeStatus(statusLine(status));
    // One call for all headers, joined as they are on the wire, where uWS writes them as they come: calls into it are
    // what an answer costs.
    let lines = this.requestId + headers;
    // Told the length, uWS 20.51 waits for the body that it must not send, and closes the connection at the next request.
    if (this.isHead && !isBodiless) lines += `\r\ncontent-length: ${byteLength(body)}`;
    const { uwsCloses } = this.headers;
    // uWS says so itself only where the client did not.
    if (this.#isLast && uwsCloses) lines += '\r\nconnection: close';
    response.writeHeader('x-request-id', lines);
    if (isBodiless || this.isHead) {
      // A response without a body does not count as answered when the route handler returns.
      if (this.#isInHandler) this.leaveHandler();
      response.endWithoutBody();
      return true;
    }
    // `end` counts as complete what the client has not taken yet, and another request would run. `tryEnd` cannot close.
    if (!this.#isLast || uwsCloses) return this.#tryEnd(status, body);
    response.end(body, true);
    return true;
  }

  /** Whether bytes of this request's body may still be on their way. Of a chunked one that is never certain: uWS ends it early. */
  get #moreMayCome(): boolean {
    const { contentLength, transferEncoding } = this.headers;
    return transferEncoding !== '' || (contentLength !== '' && contentLength !== '0' && !this.#bodyIsIn);
  }

  /**
   * Ends with as much as the client takes now. While it does not read the rest, the response is pending, and uWS closes a
   * connection that asks for more meanwhile: answers that nobody reads would else pile up without bound.
   */
  #tryEnd(status: number, body: string | Buffer): boolean {
    const totalBytes = byteLength(body);
    if (this.#response.tryEnd(body, totalBytes)[1]) return true;
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    this.#isWriting = true;
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
    this.#deadline = (this.#isInHandler ? this.startedAt : performance.now()) + milliseconds;
  }

  /** From now on it waits for news, or for its client, rather than for Redis: it gives its place up. */
  park(milliseconds: number): void {
    this.dueIn(milliseconds);
    this.#leavePlace();
  }

  /** Cuts the connection without a word. */
  cut(): void {
    if (this.#isFinished) return;
    this.#response.close();
  }

  /** Calls back when the client goes away before it was answered. */
  onGone(callback: () => void): void {
    if (this.#isFinished) return callback();
    this.#onGone = callback;
  }

  /** Answers an upgrade request by becoming a WebSocket. Only where `headers.asksToUpgrade`. */
  upgrade(userData: object, context: UpgradeContext, cork: UpgradeCork): void {
    if (this.#isFinished) return;
    const { websocketKey, websocketProtocol, websocketExtensions } = this.headers;
    const response = this.#response as UpgradeResponse;
    this.#finish(101);
    cork.run(() => response.upgrade(userData, websocketKey, websocketProtocol, websocketExtensions, context));
  }

  #finish(status: number): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#leavePlace();
    if (status === 0) this.#onGone?.();
    this.#route.finished(this, status);
  }

  #leavePlace(): void {
    if (!this.#hasPlace) return;
    this.#hasPlace = false;
    this.#route.admission.leavePlace();
  }
}

function byteLength(body: string | Buffer): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length;
}

/** A client that takes longer than this to read an answer is cut off. */
const WRITE_DEADLINE_MS = 30_000;

const WELL_FORMED_REQUEST_ID = /^[\w.-]{1,128}$/;

const requestIdPrefix = `${randomBytes(6).toString('base64url').replace(/[_-]/g, 'x')}-`;
let requestCount = 0;

/** Unique without a random draw each: one random prefix a process, then a count. */
function nextRequestId(): string {
  return requestIdPrefix + ++requestCount;
}
