/** Limits on a client's messages. Exceeding one closes the socket, with 1009, 4429 or 4400. */
export const MESSAGE_LIMIT_BYTES = 16 * 1024;
export const MESSAGES_PER_SECOND = 20;
/**
 * Most frames a second of a player or a server whose channel was welcomed. Enough for a seat that uses its full rates of acts and of
 * messages, and for some pings.
 */
export const FRAMES_PER_SECOND = 120;
export const BAD_MESSAGES = 3;

/** A socket that does not drain for this long is closed. Its client connects again and gets the state then. */
export const TOO_SLOW_MS = 30_000;

/** Above this, uWS cuts the connection without a close frame. Messages between the two limits close it with 1009. */
export const CUT_OFF_BYTES = 4 * MESSAGE_LIMIT_BYTES;

/** The frames of one socket in the present second. */
export class FrameCount {
  #second = 0;
  #frames = 0;

  /** Counts a frame. @returns how many there were in this second */
  count(): number {
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.#second) [this.#second, this.#frames] = [second, 0];
    return ++this.#frames;
  }
}
