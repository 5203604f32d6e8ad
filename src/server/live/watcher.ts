/** A socket, as a topic sees it. */
export interface Watcher {
  /** Whether the watcher takes patches in place of whole states. */
  readonly takesPatches: boolean;
  /** From now on the socket receives the messages that are published on the topic. */
  subscribe(topic: string): void;
  unsubscribe(topic: string): void;
  sendState(message: string): void;
  /**
   * Sends messages that are not kept. A socket that lags does not get them: it learns once it has drained which it missed.
   * @returns how many messages it missed
   */
  relay(relayed: readonly Relayed[]): number;
  /** The private part of this watcher has changed. */
  privateChanged(): void;
  /** Closes the socket after the messages that were sent to it. */
  end(code: number, reason: string): void;
}

/** A message, or the notice of those that no watcher got. */
export interface Relayed {
  readonly message: string;
  /** The number of the message, or the first number that a notice names. */
  readonly from: number;
  readonly to: number;
  readonly isNotice: boolean;
}

/** The notice of messages that were not sent: the numbers of the first and the last. */
export function noticeOf({ from, to }: { from: number; to: number }): string {
  return JSON.stringify({ type: 'missed', from, to });
}
