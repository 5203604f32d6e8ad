/** The methods and facts of a watching socket that a topic needs. */
export interface Watcher {
  /** Whether the watcher takes patches (the changes) in place of whole states. */
  readonly takesPatches: boolean;
  /** Subscribes the socket to the messages that are published on a uWS topic. */
  subscribe(topic: string): void;
  unsubscribe(topic: string): void;
  sendState(message: string): void;
  /** Sends an answer once the watcher was sent a state of at least this position. */
  sendAfter(position: number, text: string): void;
  /**
   * Sends messages that are not kept. A socket that lags does not get them; once it has drained, it is told which messages it missed.
   * @returns how many messages the socket missed
   */
  relay(relayed: readonly Relayed[]): number;
  /** Called when the private part of this watcher has changed. */
  privateChanged(): void;
  /** Closes the socket once the messages that were sent to it have gone out. */
  end(code: number, reason: string): void;
}

/** A relayed message, or a notice of the messages that no watcher got. */
export interface Relayed {
  readonly message: string;
  /** The number of the message. In a notice: the number of the first missed message. `to` is the number of the last. */
  readonly from: number;
  readonly to: number;
  readonly isNotice: boolean;
}

/** The text of the notice of missed messages, with the numbers of the first and the last. */
export function noticeOf({ from, to }: { from: number; to: number }): string {
  return JSON.stringify({ type: 'missed', from, to });
}
