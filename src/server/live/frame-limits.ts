/** The most bytes of a client's message. A larger message closes the socket with 1009. */
export const MESSAGE_LIMIT_BYTES = 16 * 1024;

/** The most messages per second of a client. More close the socket with 4429. */
export const MESSAGES_PER_SECOND = 20;

/**
 * The most frames per second of a player or a server that was admitted to a channel: enough for a seat that uses up its rates of acts and
 * of messages, and for some pings.
 */
export const FRAMES_PER_SECOND = 120;

/** The number of messages that are not understood after which the socket is closed with 4400. */
export const BAD_MESSAGES = 3;

/** Milliseconds of silence after which the socket of a player or a server is pinged. */
export const PING_AFTER_MS = 4000;

/**
 * Milliseconds of silence after which such a socket counts as dead, because its network must be down. So a room whose players are gone
 * leaves the lists within 15 s, although nobody closed a connection.
 */
export const SILENT_MS = 12_000;

/** Milliseconds after which a socket that does not drain is closed. Its client reconnects and then gets the state. */
export const TOO_SLOW_MS = 30_000;

/**
 * The size of a message, in bytes, above which uWS cuts the connection without a close frame. Messages between MESSAGE_LIMIT_BYTES and this
 * limit close the socket with 1009.
 */
export const CUT_OFF_BYTES = 4 * MESSAGE_LIMIT_BYTES;

/** Counts the frames of one socket in the present second. */
export class FrameCount {
  #second = 0;
  #frames = 0;

  /** Counts a frame. @param now by `performance.now()`. @returns how many frames came in this second */
  count(now: number): number {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) [this.#second, this.#frames] = [second, 0];
    return ++this.#frames;
  }
}
