import { z } from 'zod';
import { refuse } from '../../errors.ts';
import { channel } from '../../declare.ts';
import { InstallId } from '../../accounts/ids.ts';
import { isRoomCode, Room, RoomCode, You, type RoomDoc } from './model.ts';

export const liveRoom = channel({
  path: '/v1/rooms/{code}/live',
  summary: "A room's public state, whole, at once and after every change.",
  description: [
    'A watcher needs no history: every message holds everything. `seq` only rises; states that follow each other faster than a client',
    'can read, or than 60 a second, may be skipped, and so may states that would push more bytes to all watchers together than',
    'ROOM_BYTES_PER_SECOND; the latest never is. A player counts as `connected` after `hello`, or by the session cookie of the',
    'upgrade; when the last of their connections ends they are `connected:false` and keep the seat, and a host who is gone',
    'for 30 s hands over to the longest-seated connected player. A room that ends is sent once more, then closed with 4501; one that is',
    'gone with 4500. When a guest moves into a store account its connections go on as watchers: they are told the error `sign_in_required`,',
    'and the player counts as connected again on a connection opened with the session of the sign-in.',
  ].join(' '),
  params: z.object({ code: RoomCode }),
  headers: {
    cookie: 'The session cookie, if there is one: its player counts as connected without `hello`. Whoever is not in the room just watches.',
  },
  sends: {
    room: z.object({ type: z.literal('room'), seq: z.number().int(), room: Room }),
    welcome: z.object({ type: z.literal('welcome'), you: You }).meta({ description: 'Answers `hello`, to this connection alone.' }),
  },
  receives: {
    hello: z.object({ type: z.literal('hello'), installId: InstallId }).meta({
      description:
        'Marks the player of this install connected. Answered by `welcome`, or by an error: `not_in_room`, `room_not_found`, ' +
        '`sign_in_required`, `rate_limited`, `store_unavailable`. One that was welcomed on this connection already is not answered as ' +
        'long as its player keeps the seat.',
    }),
  },
  errors: ['room_not_found'],
  misses: ['room_not_found'],
  notFound: 'room_not_found',
  subject: ({ params }) => (isRoomCode(params.code) ? params.code : refuse('room_not_found')),
  feed: ({ feeds }) => feeds.room,
  async opened(socket, { presence }) {
    const caller = socket.sessionCaller;
    // Somebody signed in may well just watch: not being in the room is no error then.
    if (caller !== undefined) await greet(socket, caller, presence);
  },
  async received(socket, message, { presence }) {
    const caller = socket.callerOf(message['installId'] as string);
    const { greeted } = socket;
    if (greeted?.accountId === caller.accountId && isSeated(greeted.playerId, socket.latest)) return;
    const outcome = await greet(socket, caller, presence);
    if (typeof outcome === 'string') throw refuse(outcome);
    socket.greeted = { accountId: caller.accountId, playerId: outcome.playerId };
  },
  async closed(socket, { presence }) {
    if (socket.accountId !== undefined) await presence.bye(socket.id, socket.accountId, socket.connectionId);
  },
});

type Greeted = Parameters<NonNullable<typeof liveRoom.opened>>;

async function greet(socket: Greeted[0], caller: NonNullable<Greeted[0]['sessionCaller']>, presence: Greeted[1]['presence']) {
  // One connection is one player: a second hello by another install takes the first one's place.
  const before = socket.accountId;
  const outcome = await presence.hello(socket.id, caller, socket.connectionId, () => {
    if (socket.accountId !== caller.accountId) return;
    socket.accountId = socket.greeted = undefined;
    const { code, message } = refuse('sign_in_required');
    socket.send({ type: 'error', error: { code, message } });
  });
  if (typeof outcome === 'string') return outcome;
  socket.accountId = caller.accountId;
  if (before !== undefined && before !== caller.accountId) await presence.bye(socket.id, before, socket.connectionId);
  socket.send({ type: 'welcome', you: outcome });
  return outcome;
}

/** Who left or was kicked has no seat, and after joining again another one. */
function isSeated(playerId: string, message: string): boolean {
  const { room } = JSON.parse(message) as { room: Pick<RoomDoc, 'players'> };
  return room.players.some(({ id }) => id === playerId);
}
