import type { HttpResponse } from '../uws.ts';

/** Everything of an answer before its body. */
export interface AnswerHead {
  /** `400 Bad Request` */
  readonly statusLine: string;
  /** `name: value` lines, joined by CRLF. */
  readonly headers: string;
}

/**
 * Writes an answer and closes the connection once the client is quiet or gone (RFC 9112, section 9.6: a lingering close).
 *
 * uWS closes a socket in one go. If the client's bytes are still coming then, the kernel answers them with a reset, and the
 * client may lose the answer. It has no call that ends only the sending half. So the answer goes out whole, but uWS is never
 * told that it is complete. Meanwhile uWS reads what comes and drops it. If that is another request, uWS closes the
 * connection, for it runs no request while an answer is pending.
 *
 * @param body undefined: the answer has none
 */
export function answerAndLinger(
  response: HttpResponse,
  { statusLine, headers }: AnswerHead,
  body: string | Buffer | undefined,
  isHead: boolean,
): void {
  // uWS ends the text given as status with CRLF. That is the empty line after the headers, or counts as the body's last line.
  let text = `${statusLine}\r\n${headers}\r\nconnection: close\r\ndate: ${new Date().toUTCString()}\r\n`;
  if (body !== undefined) text += `content-length: ${Buffer.byteLength(body) + (isHead ? 0 : 2)}\r\n`;
  if (body !== undefined && !isHead) text += `\r\n${body}`;
  response.cork(() => response.writeStatus(text));
  const lingersSince = performance.now();
  const quiet = setTimeout(() => response.close(), text.length > SOCKET_TAKES ? SLOW_READER_MS : QUIET_MS);
  response.onAborted(() => clearTimeout(quiet));
  response.onData(() => {
    if (performance.now() - lingersSince < LONGEST_MS) quiet.refresh();
  });
}

/** A client that keeps sending learns of the answer within a round trip; its packets come more often than this. */
const QUIET_MS = 150;

/** Bytes of an answer that a socket takes at once. uWS keeps the rest of a longer one, and does not tell when it is out. */
const SOCKET_TAKES = 16 * 1024;
const SLOW_READER_MS = 30_000;

/** A client that sends on and on does not hold its connection for longer than this. */
const LONGEST_MS = 5000;
