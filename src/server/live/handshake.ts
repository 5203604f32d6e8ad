import { invalid, refuse, type Refusal } from '../../errors.ts';
import type { RequestHeaders } from '../http/request-headers.ts';

/**
 * Why a request to a channel is no opening handshake (RFC 6455, section 4.2.1), if it is none. uWS looks only at the length
 * of the key.
 */
export function refuseHandshake(headers: RequestHeaders): Refusal | undefined {
  if (!WEBSOCKET.test(headers.upgrade)) return invalid('upgrade', 'Must be websocket: this is a live channel');
  // uWS would take the body for frames.
  if (headers.contentLength !== '' || headers.transferEncoding !== '') return invalid('content-length', 'An upgrade has no body');
  if (!headers.asksToUpgrade) return invalid('connection', 'Must be Upgrade');
  if (headers.websocketVersion !== '13') return refuse('upgrade_required');
  if (!KEY.test(headers.websocketKey)) return invalid('sec-websocket-key', 'Must be 16 bytes in base64');
  return undefined;
}

const WEBSOCKET = /(?:^|[\s,])websocket(?:$|[\s,])/i;

/** 16 bytes take 22 characters; the last one carries two bits. */
const KEY = /^[A-Za-z\d+/]{22}==$/;
