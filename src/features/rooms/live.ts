import { z } from 'zod';
import { refuse } from '../../errors.ts';
import { channel, type Services } from '../../declare.ts';
import type { Caller } from '../../server/identity/caller.ts';
import type { ChannelSocket } from '../../server/live/channel.ts';
import { InstallId } from '../../accounts/ids.ts';
import { SessionToken } from '../sessions/model.ts';
import { isRoomCode, Room, RoomCode, You, type RoomDoc } from './model.ts';
import type { Presence } from './presence.ts';

const Hello = z
  .object({ type: z.literal('hello'), sessionToken: SessionToken.optional(), installId: InstallId.optional() })
  .refine(({ sessionToken, installId }) => sessionToken !== undefined || installId !== undefined, {
    path: ['installId'],
    message: 'Is needed, or a sessionToken',
  });

export const liveRoom = channel({
  path: '/v1/rooms/{code}/live',
  summary: "Sends a room's whole public state, at once and after every change.",
  description: [
    'Every message holds the whole state, so a watcher needs no history. `seq` only rises. The service may skip intermediate states: if',
    'they follow each other faster than the client reads or than 60 a second, or if they would push more than ROOM_BYTES_PER_SECOND to',
    'all watchers together. It never skips the latest state. A player counts as `connected` after `hello`, or from the start if the',
    'upgrade carries the session, as cookie or bearer. When the last connection of a player ends, the player is `connected:false` and keeps the seat. A',
    'host who stays disconnected for HOST_GRACE_SECONDS (30 by default) hands over to the longest-seated connected player. When a room',
    'ends, the service sends it once more and closes with 4501; if the room no longer exists, it closes with 4500. When a guest moves into',
    'a store account, its connections stay open as watchers and receive the error `sign_in_required`; the player counts as connected again',
    'on a connection opened with the session of the sign-in. The connections of an account that is banned or deleted become watchers too, with',
    'the error `account_banned` or `account_deleted`, and those of a session that ends with `session_required`.',
  ].join(' '),
  params: z.object({ code: RoomCode }),
  takesSession: true,
  headers: {
    authorization:
      '`Bearer <sessionToken>`, optional: in place of the cookie, for clients that can send it. An invalid one refuses the upgrade.',
    cookie: 'The session cookie, optional: its player counts as connected without `hello`. A caller without a seat only watches.',
  },
  sends: {
    room: z.object({ type: z.literal('room'), seq: z.number().int(), room: Room }),
    welcome: z
      .object({ type: z.literal('welcome'), you: You })
      .meta({ description: 'The answer to `hello`, sent to this connection only.' }),
  },
  receives: {
    hello: Hello.meta({
      description:
        'Marks the player of this session or install connected. A `sessionToken` comes before an `installId`; an invalid one is ' +
        '`session_required`. The answer is `welcome` or an error: `not_in_room`, `room_not_found`, `session_required`, ' +
        '`sign_in_required`, `account_banned`, `account_deleted`, `rate_limited`, `store_unavailable`. A `hello` that repeats a welcomed one on the same connection gets no ' +
        'answer while its player keeps the seat.',
    }),
  },
  errors: ['room_not_found'],
  misses: ['room_not_found'],
  notFound: 'room_not_found',
  subject: ({ params }) => (isRoomCode(params.code) ? params.code : refuse('room_not_found')),
  feed: ({ feeds }: LiveServices) => feeds.room,
  memory: (): ConnectedPlayer => ({ accountId: undefined, welcomed: undefined }),
  async opened(socket, { presence }: LiveServices) {
    const caller = socket.sessionCaller;
    // A caller with a session may watch without a seat, so `not_in_room` is ignored here.
    if (caller !== undefined) await greet(socket, caller, presence);
  },
  async received(socket, message, { presence }: LiveServices) {
    const caller = await socket.callerOf(message as z.output<typeof Hello>);
    const { welcomed } = socket.memory;
    if (welcomed?.accountId === caller.accountId && isSeated(welcomed.playerId, socket.latest)) return;
    const outcome = await greet(socket, caller, presence);
    if (typeof outcome === 'string') throw refuse(outcome);
    socket.memory.welcomed = { accountId: caller.accountId, playerId: outcome.playerId };
  },
  async closed({ id, memory, connectionId }, { presence }: LiveServices) {
    if (memory.accountId !== undefined) await presence.bye(id, memory.accountId, connectionId);
  },
});

type LiveServices = Pick<Services, 'feeds' | 'presence'>;

interface ConnectedPlayer {
  /** The account that the connection counts for. */
  accountId: string | undefined;
  /** The account and player of the last `welcome` that answered a hello. */
  welcomed: { readonly accountId: string; readonly playerId: string } | undefined;
}

async function greet(socket: ChannelSocket<ConnectedPlayer>, caller: Caller, presence: Presence) {
  const { id, memory, connectionId } = socket;
  // A connection counts for one player: a hello by another install replaces the first.
  const before = memory.accountId;
  const outcome = await presence.hello(id, caller, connectionId, (reason) => {
    if (memory.accountId !== caller.accountId) return;
    memory.accountId = memory.welcomed = undefined;
    socket.refuse(reason);
  });
  if (typeof outcome === 'string') return outcome;
  memory.accountId = caller.accountId;
  if (before !== undefined && before !== caller.accountId) await presence.bye(id, before, connectionId);
  socket.send({ type: 'welcome', you: outcome });
  return outcome;
}

/** A player who left or was kicked has no seat. Joining again gives a new player id. */
function isSeated(playerId: string, message: string): boolean {
  const { room } = JSON.parse(message) as { room: Pick<RoomDoc, 'players'> };
  return room.players.some(({ id }) => id === playerId);
}
