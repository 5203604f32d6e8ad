import { checksCaller } from '../../accounts/prologues.ts';
import type { Services } from '../../declare.ts';
import { defineScript } from '../../redis/script.ts';
import type { Caller } from '../../server/identity/caller.ts';
import type { ServerKey } from '../../server/identity/server-keys.ts';
import type { ChannelSocket } from '../../server/live/channel.ts';
import { roomKeys, roomLibrary } from './model.ts';
import { privatePart, type Private } from './record.ts';

export const readPrivate = defineScript({
  file: new URL('read-private.lua', import.meta.url),
  keys: ['room'],
  args: ['accountId', 'playerId', 'tab'],
  answers: ['private', 'room_not_found', 'not_in_room'],
  prologue: checksCaller,
  slotOf: 'room',
  library: roomLibrary,
  readOnly: true,
});

/** The player or server for whom the service sent the `welcome` after a channel's `hello`. */
export type Welcomed =
  | {
      readonly by: Caller;
      readonly playerId: string;
      readonly tab: string | undefined;
      /** The name of the seat's budget of acts (`budgetOf`). */
      readonly budget: string;
    }
  | { readonly by: ServerKey; readonly playerId: 'server'; readonly tab: string | undefined };

/** The state of a connection of the channel. */
export interface ConnectedPlayer {
  /** The player or server of the last `welcome`, for whom the connection acts. Undefined: the connection only watches. */
  welcomed: Welcomed | undefined;
  /** The player of the last `welcome` that answered a hello. A `welcome` because of the session in the upgrade request is not kept here. */
  answered: Welcomed | undefined;
  /** The last private part that was sent to the connection. */
  sent: Private | undefined;
}

/** Reads the private part of a connection's player, and sends the part if it has changed since it was last sent. */
export async function sendPrivatePart(socket: ChannelSocket<ConnectedPlayer>, { scripts }: Pick<Services, 'scripts'>): Promise<void> {
  const { welcomed } = socket.memory;
  if (welcomed === undefined || !('accountId' in welcomed.by)) return;
  const { by, playerId, tab } = welcomed;
  const args = { accountId: by.accountId, playerId, tab: tab ?? '' };
  // The script also checks the caller, because the message that a session has ended may be lost, or may arrive late.
  const [word, field = '', order] = await scripts.runAs(by, readPrivate, { room: roomKeys.room(socket.id) }, args);
  const own = word === 'private' ? privatePart.parse(field) : undefined;
  // While the script ran, the caller may have lost the seat, or the connection may have sent a hello as another caller.
  if (own === undefined || socket.memory.welcomed !== welcomed) return;
  // The same part is not sent again. The texts are compared too, because after a failover a new change may have the seq of a lost change.
  if (own.seq === socket.memory.sent?.seq && own.text === socket.memory.sent.text) return;
  sendPart(socket, own, tab === undefined ? undefined : Number(order));
}

/**
 * Sends a private part to its player, after the state of the room that has the same change.
 * @param order the last order of the connection's tab
 */
export function sendPart(socket: ChannelSocket<ConnectedPlayer>, own: Private, order: number | undefined): void {
  const { playerId } = socket.memory.welcomed!;
  socket.memory.sent = own;
  const orderText = order === undefined ? '' : `,"order":${order}`;
  socket.sendAfter(own.seq, `{"type":"you","seq":${own.seq},"playerId":"${playerId}","private":${own.text}${orderText}}`);
}
