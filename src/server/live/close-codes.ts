/** The codes with which the service closes sockets. A client reconnects after 4000–4499, and does not after 4500–4999. */
export const closeCodes = {
  /** The server stops or restarts: reconnect, to another server or a little later (RFC 6455). */
  goingAway: 1001,
  messageTooBig: 1009,
  /** The client sent BAD_MESSAGES messages that the service did not understand. */
  badMessages: 4400,
  /** The client did not read for 30 s. */
  tooSlow: 4008,
  /** Redis lost changes that were sent to the client already: reconnect for the current state. */
  wentBack: 4009,
  tooManyMessages: 4429,
  /** The watched thing no longer exists. */
  gone: 4500,
  /** The watched thing reached its final state, which was sent before the close. */
  finished: 4501,
  /** Nobody named the caller in time, on a channel that is the caller's own. */
  callerMissing: 4502,
  /** The caller may watch no longer: the session ended, or the account moved, was banned or deleted. */
  callerLost: 4503,
} as const;
