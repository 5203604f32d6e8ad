import type { HttpResponse } from '../uws.ts';
import { UnreadBody } from './unread-body.ts';

/** The part of an answer before its body. */
export interface AnswerHead {
  /** The status text, such as `400 Bad Request`. */
  readonly statusLine: string;
  /** The header lines, such as `name: value`, joined by CRLF. */
  readonly headers: string;
}

/**
 * Writes an answer and closes the connection once the client is quiet or gone (RFC 9112, section 9.6: a lingering close).
 *
 * uWS closes both directions of a socket at once, and has no call that ends only the sending half. If bytes of the client
 * arrive after the close, the kernel answers them with a reset, and the client may lose the answer. So the service sends the
 * whole answer but never tells uWS that it is complete. Until the close, uWS reads and drops the rest of the body. If
 * another request arrives, uWS closes the connection, because it runs no request while an answer is pending. A client that sends
 * more than UnreadBody allows is cut off at once.
 *
 * @param body undefined: the answer has none
 */
export function answerAndLinger(
  response: HttpResponse,
  { statusLine, headers }: AnswerHead,
  body: string | Buffer | undefined,
  isHead: boolean,
): void {
  // uWS appends CRLF to the status text. Without a body, this CRLF is the empty line that ends the headers. After a body, this CRLF is the
  // last two bytes of the body.
  let text = `${statusLine}\r\n${headers}\r\nconnection: close\r\ndate: ${new Date().toUTCString()}\r\n`;
  if (body !== undefined) text += `content-length: ${Buffer.byteLength(body) + (isHead ? 0 : 2)}\r\n`;
  if (body !== undefined && !isHead) text += `\r\n${body}`;
  response.cork(() => response.writeStatus(text));
  let [isOver, isHeard] = [false, false];
  const close = (): void => {
    if (!isOver) response.close();
  };
  const closeIfQuiet = (): void => {
    isHeard = false;
    // If the process was held up, it has not yet read the bytes that the client sent in the meantime. The event loop reads its sockets
    // before it runs this callback.
    setImmediate(() => !isHeard && close());
  };
  const quiet = setTimeout(closeIfQuiet, text.length > SOCKET_BUFFER_BYTES ? SLOW_READER_MS : QUIET_MS);
  response.onAborted(() => {
    isOver = true;
    clearTimeout(quiet);
  });
  const unread = new UnreadBody();
  response.onData(({ byteLength }) => {
    isHeard = true;
    if (unread.isPast(byteLength)) close();
    else quiet.refresh();
  });
}

/**
 * Milliseconds without data after which the connection closes. A client that is still sending its body sends packets more often, and a
 * client that has finished sees the answer within a round trip.
 */
const QUIET_MS = 150;

/** Bytes of an answer that the socket takes at once. uWS keeps the rest of a longer answer, and does not report when it was sent. */
const SOCKET_BUFFER_BYTES = 16 * 1024;

/** Milliseconds without data, in place of QUIET_MS, after an answer that is longer than SOCKET_BUFFER_BYTES: the client is reading it. */
const SLOW_READER_MS = 30_000;
