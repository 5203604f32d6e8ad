import type { Metrics } from '../metrics.ts';

/**
 * Counts, since the start of the process, of the messages that its live channels sent or failed to send. Topics and sockets raise the
 * counts.
 */
export class LiveCounts {
  /** Messages relayed to watchers. A message to several sockets counts once for each. */
  messages = 0;
  /**
   * Relayed messages that a socket did not get, because it reads too slowly or its topic pushes more than it may. Each counts once for each
   * socket.
   */
  messagesMissed = 0;
  /** Notices to sockets that the private part of their player has changed. */
  privateNotices = 0;
  /** Acts that were refused before they were parsed. */
  actsUnread = 0;

  addTo(metrics: Pick<Metrics, 'count'>): void {
    const count = (name: string, help: string, value: () => number): void => metrics.count({ name: `coinop_live_${name}`, help, value });
    count('messages_total', 'Messages of rooms, counted once for each addressed socket.', () => this.messages);
    count(
      'messages_missed_total',
      'Messages of rooms that a socket did not get: it reads too slowly, or the room pushes more than it may.',
      () => this.messagesMissed,
    );
    count('private_notices_total', 'Changes of a private part, counted once for each socket of the player.', () => this.privateNotices);
    count(
      'acts_unread_total',
      'Acts refused before they were read: the address sends too many, or too many acts of the socket wait.',
      () => this.actsUnread,
    );
  }
}
