import type { Metrics } from '../metrics.ts';

/** What the live channels of this process sent and could not send, since its start. Topics and sockets count. */
export class LiveCounts {
  /** Relayed messages, once for each socket that they were for. */
  messages = 0;
  /** Those of them that a socket did not get: it lags, or its topic pushes more than it may. */
  messagesMissed = 0;
  /** Times that a socket was told to look at what only its player sees. */
  privateNotices = 0;
  /** Acts that were refused before they were read. */
  actsUnread = 0;

  addTo(metrics: Pick<Metrics, 'count'>): void {
    const count = (name: string, help: string, value: () => number): void => metrics.count({ name: `coinop_live_${name}`, help, value });
    count('messages_total', 'Messages of rooms, once for each socket that they were for.', () => this.messages);
    count(
      'messages_missed_total',
      'Messages of rooms that a socket did not get: it reads too slowly, or the room pushes more than it may.',
      () => this.messagesMissed,
    );
    count('private_notices_total', 'Changes of what only one player sees, once for each socket of the player.', () => this.privateNotices);
    count(
      'acts_unread_total',
      'Acts refused before they were read: the address sends more than it may, or the socket more than waits.',
      () => this.actsUnread,
    );
  }
}
