import type { HttpRequest } from './uws.ts';

/** The headers that anything here looks at, and what is wrong with the request's framing. */
export class RequestHeaders {
  static of(request: HttpRequest): RequestHeaders {
    collecting = new RequestHeaders();
    request.forEach(collect);
    return collecting;
  }

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
