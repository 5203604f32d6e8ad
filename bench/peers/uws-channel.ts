import type { HttpRequest, UpgradeContext, UpgradeResponse } from '../../src/server/uws.ts';

/** The options of a room's channel in the floors on uWebSockets.js. */
export const CHANNEL = {
  maxPayloadLength: 16 * 1024,
  idleTimeout: 120,
  sendPingsAutomatically: true,
  maxBackpressure: 64 * 1024,
  closeOnBackpressureLimit: false,
} as const;

/** Upgrades a request to a WebSocket. @param data the user data of the socket */
export function upgrade(data: object, response: UpgradeResponse, request: HttpRequest, context: UpgradeContext): void {
  let key = '';
  request.forEach((name, value) => {
    if (name === 'sec-websocket-key') key = value;
  });
  response.upgrade(data, key, '', '', context);
}
