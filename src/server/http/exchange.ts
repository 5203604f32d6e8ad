import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { errors, type Refusal } from '../../errors.ts';
import type { CostlyTurn } from '../costly-work.ts';
import { addressGroup, addressText, type ClientAddresses } from '../address.ts';
import { Held, type Admission, type Wanted } from '../admission.ts';
import { answerAndLinger } from './lingering-close.ts';
import { RequestHeaders } from './request-headers.ts';
import { statusLine } from './response-headers.ts';
import type { ServerKey } from '../identity/server-keys.ts';
import { traceOf, type Trace } from './trace.ts';
import { UnreadBody } from './unread-body.ts';
import type { UpgradeCork } from '../live/upgrade-cork.ts';
import type { HttpRequest, HttpResponse, UpgradeContext, UpgradeResponse } from '../uws.ts';

/** The data that all requests of a route share. They are made once for each route, so that a request creates no closures. */
export interface ExchangeRoute {
  /**
   * The method of all requests of the route, in small letters. Undefined: the route takes every method and path, and each request reads its
   * own.
   */
  readonly method: string | undefined;
  /** Whether requests read their query. False for an endpoint without a query: this saves one call into uWS, a fifth of a microsecond. */
  readonly readsQuery: boolean;
  readonly admission: Admission;
  /** Called once per exchange, after its answer or the client's abort (status 0). */
  finished(exchange: Exchange, status: number): void;
}

/**
 * One request and its response. The pipeline and the live channels reach uWS's HTTP objects only through this class.
 *
 * The request object is invalid after the route handler returns, the response object after an abort, a body chunk after its callback. So
 * the constructor copies everything, and `send` does nothing after an abort or an earlier answer.
 *
 * While the route handler runs, uWS holds the socket corked and reports no abort. An exchange that is answered before the handler returns
 * needs neither a cork nor an abort handler. A cork and an abort handler together cost 1 µs of the 5 µs that a request takes beyond bare
 * uWS. For every other exchange the server calls `leaveHandler`.
 */
export class Exchange {
  /** The method in small letters, such as `get`. */
  readonly method: string;
  /** The path. It is '' if all requests of the route have the same method and path: reading it would take two calls into uWS, 0.3 µs. */
  readonly path: string;
  readonly query: string;
  readonly headers: RequestHeaders;
  readonly requestId: string;
  /** When the request arrived, in milliseconds on the clock of `performance.now()`, which `#deadline` uses too. */
  readonly startedAt = performance.now();
  #deadline = Infinity;
  /** When the present phase of the exchange began, and how many milliseconds of this phase are waiting and not work (`workedMs`). */
  #phaseStartedAt = this.startedAt;
  #waitsMs = 0;
  #workedMs = 0;
  #refusal: Refusal | undefined;
  #accountId: string | undefined;
  #key: ServerKey | undefined;
  #isFinished = false;
  #isReading = false;
  #isWriting = false;
  #isLast = false;
  #hasPlace = false;
  #mayHaveWritten = false;
  #held: Held | undefined;
  /** The exchange's turn among the costly requests, if its endpoint is costly. */
  costlyTurn: CostlyTurn | undefined;
  #unread: UnreadBody | undefined;
  #bodyIsComplete = false;
  readonly #response: HttpResponse;
  readonly #route: ExchangeRoute;
  readonly #addresses: ClientAddresses;
  #isInHandler = true;
  #unansweredPlace: number | undefined;
  #onGone: (() => void) | undefined;
  #peer: string | undefined;
  #address: string | undefined;
  #group: string | undefined;

  constructor(response: HttpResponse, request: HttpRequest, route: ExchangeRoute, addresses: ClientAddresses) {
    this.#response = response;
    this.#route = route;
    this.#addresses = addresses;
    this.method = route.method ?? request.getMethod();
    this.path = route.method === undefined ? request.getUrl() : '';
    this.query = route.readsQuery ? (request.getQuery() ?? '') : '';
    this.headers = RequestHeaders.of(request);
    const given = this.headers.requestId;
    this.requestId = given !== '' && WELL_FORMED_REQUEST_ID.test(given) ? given : nextRequestId();
  }

  /** Whether the request was answered whole, or aborted by the client. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** Whether nothing more can be sent: the exchange has finished, or was answered and the client is still reading. */
  get isAnswered(): boolean {
    return this.#isFinished || this.#isWriting;
  }

  /** Whether the service waits for the client: for the rest of its body, or for it to read the rest of the answer. */
  get waitsForClient(): boolean {
    return this.#isReading || this.#isWriting;
  }

  /** Whether the exchange is a long-poll that has no news yet. */
  get isWaiting(): boolean {
    return this.#waitsMs > 0 && !this.isAnswered;
  }

  get isReading(): boolean {
    return this.#isReading;
  }

  /** Whether the exchange is past its deadline. @param now on the clock of `performance.now()` */
  isOverdue(now: number): boolean {
    return now >= this.#deadline;
  }

  /** Whether a write that this request caused may have reached Redis. If so, the answer 503 has `outcome:"unknown"`. */
  get mayHaveWritten(): boolean {
    return this.#mayHaveWritten;
  }

  /** Notes that from now on a write may reach Redis. */
  mayWrite(): void {
    this.#mayHaveWritten = true;
  }

  /** The refusal with which the request was answered, if it was refused. */
  get refusal(): Refusal | undefined {
    return this.#refusal;
  }

  /** The account that the request's credentials name, for the log. Undefined without credentials, or before the credentials are read. */
  get accountId(): string | undefined {
    return this.#accountId;
  }

  identified(accountId: string | undefined): void {
    this.#accountId = accountId;
  }

  /** The trace that the client's header traceparent names. Computed on demand, for log lines and for calls to the app store. */
  get trace(): Trace | undefined {
    const { traceparent } = this.headers;
    return traceparent === '' ? undefined : traceOf(traceparent);
  }

  /** The server key of the request, if the request has a valid key. */
  get key(): ServerKey | undefined {
    return this.#key;
  }

  hasKey(key: ServerKey): void {
    this.#key = key;
  }

  /**
   * How long the service has worked on the answer. The time in which the client sends its body or reads its answer does not
   * count, nor the time that a long-poll asks to wait.
   * @param now on the clock of `performance.now()`
   */
  workedMs(now: number): number {
    return this.#workedMs + Math.max(0, now - this.#phaseStartedAt - this.#waitsMs);
  }

  /** The index of the exchange in the server's list of unanswered exchanges (unanswered.ts). Undefined: it is not in the list. */
  get unansweredPlace(): number | undefined {
    return this.#unansweredPlace;
  }

  takeUnansweredPlace(place: number | undefined): void {
    this.#unansweredPlace = place;
  }

  /** Makes this the last request of its connection. */
  closeAfterAnswer(): void {
    this.#isLast = true;
  }

  /**
   * Counts the exchange among the requests in flight until it parks or finishes.
   * @returns false if MAX_IN_FLIGHT requests are in flight already
   */
  takePlace(): boolean {
    this.#hasPlace = this.#route.admission.takePlace();
    return this.#hasPlace;
  }

  /** Counts the extra cost of the request. @returns 0 if it may go on, else the milliseconds to wait */
  chargeMore(requests: number): number {
    const { admission } = this.#route;
    return admission.limitsAddresses && !this.isAnswered ? admission.chargeMore(this.group, this.#key?.id, requests) : 0;
  }

  /**
   * Makes one reservation of each kind for the client's address. A second call does nothing.
   * @returns 0 if all are reserved, else the milliseconds to wait
   */
  reserve(wanted: readonly Wanted[]): number | Promise<number> {
    if (this.#held !== undefined) return 0;
    this.#held = new Held(this.#route.admission, this.group);
    return this.#held.reserveAll(wanted);
  }

  /** The reservations made by `reserve`. */
  get reserved(): Held | undefined {
    return this.#held;
  }

  /**
   * Must be called before the route handler returns, unless the exchange has finished. uWS ends the process if a handler leaves a response
   * without an answer and without an abort handler.
   */
  leaveHandler(): void {
    this.#isInHandler = false;
    this.#response.onAborted(() => this.#finish(0));
    if (this.headers.hasLongBody && !this.#isReading) this.#response.onData((piece) => this.#drop(piece));
  }

  /**
   * The address of the peer: the client, or a proxy in front of it. Read on first use: most requests need no address with RATE_LIMIT=off,
   * and reading it is one of the most expensive calls into uWS.
   */
  get peer(): string {
    // uWS allows no call on a response that has ended.
    return (this.#peer ??= this.#isFinished ? 'unknown' : addressText(this.#response.getRemoteAddress()));
  }

  /** The client's address. */
  get address(): string {
    return (this.#address ??= this.#addresses.resolve(this.peer, this.headers.forwardedFor));
  }

  /** The group of the client's address, by which the limits count (`addressGroup`). */
  get group(): string {
    return (this.#group ??= addressGroup(this.address));
  }

  get isHead(): boolean {
    return this.method === 'head';
  }

  /**
   * Reads the whole body and passes it to `done`. Passes undefined as soon as the body exceeds `limitBytes`, or as soon as it has come in
   * too many pieces: more than one for each LEAST_PIECE_BYTES of the limit. `done` must not keep the buffer, because its memory may belong
   * to uWS.
   */
  readBody(limitBytes: number, done: (body: Buffer | undefined) => void): void {
    let chunks: Buffer[] | undefined;
    let sizeBytes = 0;
    let pieces = 0;
    this.#isReading = true;
    this.#waitsMs = Infinity;
    this.#response.onData((chunk, isLast) => {
      if (!this.#isReading || this.#isFinished) return this.#drop(chunk);
      sizeBytes += chunk.byteLength;
      const isTooLarge = sizeBytes > limitBytes || ++pieces > limitBytes / LEAST_PIECE_BYTES;
      if (isLast || isTooLarge) this.#isReading = false;
      if (isTooLarge) return done(undefined);
      this.#bodyIsComplete = isLast;
      // The same TCP segment may also hold the bytes of another request. uWS reads these bytes in this turn of the event loop, and closes
      // the connection if the present request is still pending. So the body is handled one turn later.
      if (isLast && this.#isLast) {
        const body = Buffer.concat([...(chunks ?? []), Buffer.from(chunk)]);
        return void setImmediate(() => this.#isFinished || done(body));
      }
      // The chunk's memory belongs to uWS until this callback returns. `done` parses a body of one chunk before the callback returns, so no
      // copy is needed.
      if (isLast && chunks === undefined) return done(Buffer.from(chunk));
      // The inner `Buffer.from` makes a view of the chunk's memory, the outer one copies the bytes.
      (chunks ??= []).push(Buffer.from(Buffer.from(chunk)));
      if (isLast) done(Buffer.concat(chunks, sizeBytes));
    });
  }

  /** Drops a piece of a body that the service does not read. If more comes than UnreadBody allows, the connection is closed. */
  #drop(piece: ArrayBuffer): void {
    this.#unread ??= new UnreadBody();
    if (this.#unread.isPast(piece.byteLength)) this.closeNow();
  }

  /** Drops the rest of the body. The connection closes after the answer. */
  stopReading(): void {
    this.#isReading = false;
    this.#isLast = true;
  }

  /**
   * Answers, in one write. Does nothing after an abort or an earlier answer.
   * @param headers as `headerLines` makes them
   * @param refusal the refusal in the answer, for the log
   */
  send(status: number, body: string | Buffer, headers: string, refusal?: Refusal): void {
    if (this.#isFinished || this.#isWriting) return;
    this.#refusal = refusal;
    if (!this.#isLast) return this.#answer(status, body, headers);
    // The answer is sent in the next turn of the event loop. Because the answer is pending until then, uWS does not run a request that
    // follows in the same bytes. It closes the connection instead.
    this.#isWriting = true;
    this.setDeadline(WRITE_DEADLINE_MS, Infinity);
    setImmediate(() => this.#isFinished || this.#answer(status, body, headers));
  }

  #answer(status: number, body: string | Buffer, headers: string): void {
    const isBodiless = status === 304 || status === 204;
    // uWS has no call that closes the connection after an answer without a body. If bytes of the request's body still arrive, uWS's close
    // resets the connection, and the client may lose the answer.
    if (this.#isLast && (isBodiless || this.isHead || this.#bodyMayContinue)) {
      const head = { statusLine: statusLine(status), headers: `x-request-id: ${this.requestId}${headers}` };
      answerAndLinger(this.#response, head, isBodiless ? undefined : body, this.isHead);
      return this.#finish(status);
    }
    let done = true;
    if (this.#isInHandler) done = this.#write(status, body, headers, isBodiless);
    else this.#response.cork(() => (done = this.#write(status, body, headers, isBodiless)));
    if (done) this.#finish(status);
  }

  /** Writes the whole answer. @returns whether the client took all of it */
  #write(status: number, body: string | Buffer, headers: string, isBodiless: boolean): boolean {
    const response = this.#response;
    // The status line is written only for statuses other than 200, because uWS writes `200 OK` itself.
    if (status !== 200) response.writeStatus(statusLine(status));
    // All header lines are written by one call into uWS, as if they were a single value: uWS writes a value unchanged, line breaks
    // included. Calls into uWS are the main cost of an answer.
    let lines = this.requestId + headers;
    // `endWithoutBody` gets no length. With a length, uWS 20.51 waits for a body that a HEAD answer must not have, and closes the
    // connection at the next request.
    if (this.isHead && !isBodiless) lines += `\r\ncontent-length: ${byteLength(body)}`;
    const { uwsCloses } = this.headers;
    // If the client asked to close the connection, uWS closes it without writing this header.
    if (this.#isLast && uwsCloses) lines += '\r\nconnection: close';
    response.writeHeader('x-request-id', lines);
    if (isBodiless || this.isHead) {
      // uWS counts a response without a body as unanswered when the route handler returns, and needs an abort handler for it.
      if (this.#isInHandler) this.leaveHandler();
      response.endWithoutBody();
      return true;
    }
    // Only `end` can close the connection. But `end` declares the answer complete before the client has read it (see `#tryEnd`).
    if (!this.#isLast || uwsCloses) return this.#tryEnd(status, body);
    response.end(body, true);
    return true;
  }

  /**
   * Whether more bytes of this request's body may arrive. Always true for a chunked body, because uWS may take such a body for complete too
   * early.
   */
  get #bodyMayContinue(): boolean {
    const { contentLength, transferEncoding } = this.headers;
    return transferEncoding !== '' || (contentLength !== '' && contentLength !== '0' && !this.#bodyIsComplete);
  }

  /**
   * Sends as much as the client takes now, and the rest as the client reads. Until the client has read everything, the response is pending,
   * and uWS closes the connection if another request arrives on it. With `end` the next request would run, and the unread answers of a
   * client that never reads would fill the memory.
   */
  #tryEnd(status: number, body: string | Buffer): boolean {
    const totalBytes = byteLength(body);
    if (this.#response.tryEnd(body, totalBytes)[1]) return true;
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    this.#isWriting = true;
    this.park(WRITE_DEADLINE_MS, Infinity);
    this.#response.onWritable((offset) => {
      const [ok, finished] = this.#response.tryEnd(bytes.subarray(offset), totalBytes);
      if (finished) this.#finish(status);
      return ok;
    });
    return false;
  }

  /**
   * Begins a phase of the exchange, and sets the phase's deadline. Within the route handler `startedAt` is the present time, so the clock
   * need not be read.
   * @param milliseconds the time until the deadline
   * @param waitsMs how much of the time from now on does not count as work (`workedMs`)
   */
  setDeadline(milliseconds: number, waitsMs = 0): void {
    const now = this.#isInHandler ? this.startedAt : performance.now();
    this.#workedMs = this.workedMs(now);
    this.#phaseStartedAt = now;
    this.#waitsMs = waitsMs;
    this.#deadline = now + milliseconds;
  }

  /**
   * Begins a phase in which the exchange waits for news or for its client (`setDeadline`). The exchange no longer counts as a request in
   * flight.
   */
  park(milliseconds: number, waitsMs: number): void {
    this.setDeadline(milliseconds, waitsMs);
    this.#leavePlace();
  }

  /** Closes the connection at once, even if no answer, or only a part of it, was sent. */
  closeNow(): void {
    if (this.#isFinished) return;
    this.#response.close();
  }

  /**
   * Closes the connection at once, from within the route handler. @param refusal the refusal that is not sent, for the log and the metrics
   */
  closeInHandler(refusal: Refusal): void {
    this.#refusal = refusal;
    this.#response.close();
    this.#finish(errors[refusal.code].status);
  }

  /** Registers a callback for the client's abort before the answer. The callback is called at once if the exchange has finished. */
  onGone(callback: () => void): void {
    if (this.#isFinished) return callback();
    this.#onGone = callback;
  }

  /** Turns the connection into a WebSocket. The caller has checked `headers.asksToUpgrade`. */
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

/**
 * A body may have one piece (a chunk or a TCP segment) for so many bytes of its limit: with a limit of 16 KiB it may come in 64 pieces.
 * Each piece costs a callback, so a body of 16 KiB in chunks of a byte would cost 20 ms.
 */
const LEAST_PIECE_BYTES = 256;

/** Milliseconds that a client may take to read an answer. After that the server closes the connection. */
const WRITE_DEADLINE_MS = 30_000;

const WELL_FORMED_REQUEST_ID = /^[\w.-]{1,128}$/;

const requestIdPrefix = `${randomBytes(6).toString('base64url').replace(/[_-]/g, 'x')}-`;
let requestCount = 0;

/**
 * The id of a request that sends none: a random prefix of this process, and a count. `randomUUID` would take 0.13 µs more for each request
 * (mitata).
 */
function nextRequestId(): string {
  return requestIdPrefix + ++requestCount;
}
