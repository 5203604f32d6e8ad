/**
 * The codes with which the service closes sockets. A client reconnects after the codes 4000 to 4499, and does not reconnect after 4500 to
 * 4999.
 */
export const closeCodes = {
  /** The server stops or restarts: the client reconnects, to another server or a little later (RFC 6455). */
  goingAway: 1001,
  messageTooBig: 1009,
  /** The client sent BAD_MESSAGES messages that the service did not understand. */
  badMessages: 4400,
  /** The client did not read for 30 s. */
  tooSlow: 4008,
  /** Redis lost changes that were already sent to the client: the client reconnects and gets the current state. */
  wentBack: 4009,
  tooManyMessages: 4429,
  /** The watched thing no longer exists. */
  gone: 4500,
  /** The watched thing reached its final state, which was sent before the close. */
  finished: 4501,
  /** The channel needs a caller, and no message named one in time. */
  callerMissing: 4502,
  /** The caller may no longer watch: the session ended, or the account moved, was banned or was deleted. */
  callerLost: 4503,
} as const;
