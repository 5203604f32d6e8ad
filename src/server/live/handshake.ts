import { invalid, refuse, type Refusal } from '../../errors.ts';
import type { RequestHeaders } from '../http/request-headers.ts';

/**
 * The refusal of a request to a channel if the request is not a valid opening handshake (RFC 6455, section 4.2.1). uWS itself checks only
 * the length of Sec-WebSocket-Key.
 */
export function refuseHandshake(headers: RequestHeaders): Refusal | undefined {
  if (!WEBSOCKET.test(headers.upgrade)) return invalid('upgrade', 'Must be websocket: this is a live channel');
  // uWS would read the body as WebSocket frames.
  if (headers.contentLength !== '' || headers.transferEncoding !== '') return invalid('content-length', 'An upgrade has no body');
  if (!headers.asksToUpgrade) return invalid('connection', 'Must be Upgrade');
  if (headers.websocketVersion !== '13') return refuse('upgrade_required');
  if (!KEY.test(headers.websocketKey)) return invalid('sec-websocket-key', 'Must be 16 bytes in base64');
  return undefined;
}

const WEBSOCKET = /(?:^|[\s,])websocket(?:$|[\s,])/i;

/** Matches 16 bytes in base64: 22 characters, of which the last carries two bits, and two characters of padding. */
const KEY = /^[A-Za-z\d+/]{22}==$/;
