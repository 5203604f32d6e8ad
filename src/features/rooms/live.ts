import { z } from 'zod';
import { refuse } from '../../errors.ts';
import { channel, type Services } from '../../declare.ts';
import { refuseBadKey } from '../../server/identity/key-check.ts';
import { SILENT_MS } from '../../server/live/frame-limits.ts';
import { SERVER } from './presence.ts';
import { InstallId } from '../../accounts/ids.ts';
import { SessionToken } from '../sessions/model.ts';
import { ActMessage, answerAct, roomActMessages, type ActServices } from './live-acts.ts';
import { Away, isRoomCode, Order, Room, RoomCode, Tab, You } from './model.ts';
import { sendPrivatePart, type ConnectedPlayer } from './private-part.ts';
import { greet, greetAgain, greetServer, isAnswered, leaseholderOf, lose, type WelcomeServices } from './welcome.ts';

const Hello = z
  .object({
    type: z.literal('hello'),
    sessionToken: SessionToken.optional(),
    installId: InstallId.optional(),
    serverKey: z
      .string()
      .max(256)
      .optional()
      .meta({ description: 'The key of a server. The socket is then the room’s server. Never use it in a page.' }),
    tab: Tab.optional(),
  })
  .refine(({ sessionToken, installId, serverKey }) => (sessionToken ?? installId ?? serverKey) !== undefined, {
    path: ['installId'],
    message: 'Is needed, or a sessionToken',
  });

/** A value that the client sends with a ping. It gets the same value back. */
const PingTime = z.union([z.number(), z.string().max(64)]);

/** The service's time, so that clients can count time as the service does. */
const Now = z.number().int().meta({ description: 'The time by the clock of the service, in milliseconds since 1970.' });

export const liveRoom = channel({
  path: '/v1/rooms/{code}/live',
  summary: "Sends a room's whole public state, at once and after every change.",
  description: [
    'The `type` of a message tells its kind: `room` is a state, and the others report what players do. Every `room` holds the whole ' +
      'public state, so a watcher needs no',
    'history. `seq` only rises. The service may skip intermediate states: if they follow each other faster than the client reads or than 60 a',
    'second, or if they would push more than ROOM_BYTES_PER_SECOND to all watchers together. It never skips the latest state. To play, send',
    '`hello` and wait for `welcome`; then each `act` gets its `acted`, and all connections get the change as a state. `message` is not stored,',
    'so only open connections get it; `you` brings the part that only this player sees. A player counts as `connected` after `hello`, or at',
    'once if the upgrade carries the session, as cookie or bearer. When the last connection of a player ends, the player is `connected:false` and keeps the seat. A',
    'host who stays disconnected for HOST_GRACE_SECONDS (30 by default) hands over to the longest-seated connected player. When a room',
    'ends, the service sends it once more and closes with 4501; if the room no longer exists, it closes with 4500. When a guest moves into',
    'a store account, its connections stay open as watchers and receive the error `sign_in_required`; the player counts as connected again',
    'on a connection opened with the session of the sign-in. The connections of an account that is banned or deleted become watchers too, with',
    'the error `account_banned` or `account_deleted`, and those of a session that ends with `session_required`.',
  ].join(' '),
  params: z.object({ code: RoomCode }),
  query: z.object({
    patch: z.literal('1').optional().meta({ description: 'Changes come as `patch` if that is at most half as long as the whole room.' }),
  }),
  takesPatches: ({ patch }) => patch !== undefined,
  takesSession: true,
  headers: {
    authorization:
      '`Bearer <sessionToken>`, optional: in place of the cookie, for clients that can send it. An invalid one refuses the upgrade.',
    cookie: 'The session cookie, optional: its player counts as connected without `hello`. A caller without a seat only watches.',
  },
  sends: {
    room: z.object({ type: z.literal('room'), seq: z.number().int(), room: Room }),
    patch: z
      .object({
        type: z.literal('patch'),
        seq: z.number().int(),
        from: z
          .number()
          .int()
          .meta({ description: 'The `seq` of the room that the operations change: the last one that the connection got.' }),
        ops: z.array(z.object({ op: z.enum(['add', 'replace', 'remove']), path: z.string(), value: z.unknown().optional() })),
      })
      .meta({
        description: 'With `patch=1`: the changes, as a JSON Patch (RFC 6902). Applied in order it gives exactly the room of `seq`.',
      }),
    welcome: z.object({ type: z.literal('welcome'), you: You, order: z.number().int().min(0).optional(), now: Now }).meta({
      description: 'The answer to `hello`, sent to this connection only. `order` is the last order of the tab that the hello names.',
    }),
    pong: z.object({ type: z.literal('pong'), t: PingTime.optional(), now: Now }).meta({
      description:
        'The answer to `ping`, with its `t`, sent at once. A time that a client measures between the two is the way there and back.',
    }),
    you: z
      .object({
        type: z.literal('you'),
        seq: z.number().int(),
        playerId: z.string(),
        private: z.unknown(),
        order: z.number().int().min(0).optional(),
      })
      .meta({
        description: "The player's private part has changed; `seq` is that of the change. Sent to the connections of the player only.",
      }),
    acted: z
      .object({
        type: z.literal('acted'),
        order: Order,
        seq: z.number().int().optional().meta({ description: 'The `seq` of the room after the act. Left out with `error`.' }),
        replayed: z.literal(true).optional(),
        error: z
          .looseObject({ code: z.string(), message: z.string() })
          .optional()
          .meta({ description: 'The reason why the act was refused, with the same fields as over HTTP. The order is not used up.' }),
        away: Away.optional(),
      })
      .meta({
        description:
          'The answer to the `act` of this order: the room’s `seq` after it, or the error that the action gives over HTTP. `replayed` marks ' +
          'an act that was done before. It comes after a `room` or `patch` of at least this `seq`, and for `private` after the `you` of ' +
          'the actor, so a player never moves on an older state. The answers to messages and refusals come at once.',
      }),
    message: z
      .object({
        type: z.literal('message'),
        n: z
          .number()
          .int()
          .meta({ description: 'Rises with each message of the room. It may begin again after a connection closed with 4009.' }),
        from: z.string().meta({ description: 'Id of the player who sent it, or `server`.' }),
        data: z.unknown(),
        at: z.iso.datetime(),
      })
      .meta({
        description: 'A message of a player, or of a `server`. All connections get messages in the order of `n`, each at most once.',
      }),
    missed: z.object({ type: z.literal('missed'), from: z.number().int(), to: z.number().int() }).meta({
      description:
        'The messages with these numbers, both included, were not sent to this connection: it read too slowly, the room sent too many, or ' +
        'the service was cut off from Redis.',
    }),
  },
  receives: {
    hello: Hello.meta({
      description:
        'Marks the player of this session or install connected, and names the tab that acts. A `sessionToken` comes before an `installId`; an ' +
        'invalid one is `session_required`. The answer is `welcome` or an error: `not_in_room`, `room_not_found`, `session_required`, ' +
        '`sign_in_required`, `account_banned`, `account_deleted`, `bad_key`, `forbidden`, `rate_limited`, `store_unavailable`. A `hello` that ' +
        'repeats a welcomed one on the same connection gets no answer while its player keeps the seat.',
    }),
    ping: z.object({ type: z.literal('ping'), t: PingTime.optional() }).meta({
      description:
        'Asks for the time of the service, and whether the connection is alive. It needs no `welcome`. `t` may be any number or short text, ' +
        'such as the time at which the ping is sent.',
    }),
    act: ActMessage.meta({
      description:
        'Performs an action, after `welcome`. The tab is that of `hello`, or of the act. The answer is `acted`. A seat acts 30 times a ' +
        'second, 60 at once. Acts count against RATE_LIMIT_ACTS_PER_SECOND of the address, and not as requests where `type` comes first in ' +
        'the message. After a reconnection a tab first repeats the acts without an `acted`, in order: each act is done once.',
    }),
  },
  acts: roomActMessages,
  answer: ({ type, t }, { now }: LiveServices) => (type === 'ping' ? { type: 'pong', t, now: Math.round(now()) } : undefined),
  errors: ['room_not_found'],
  misses: ['room_not_found'],
  notFound: 'room_not_found',
  subject: ({ params }) => (isRoomCode(params.code) ? params.code : refuse('room_not_found')),
  feed: ({ feeds }: LiveServices) => feeds.room,
  memory: (): ConnectedPlayer => ({ welcomed: undefined, answered: undefined, sent: undefined }),
  async opened(socket, services: LiveServices) {
    const caller = socket.sessionCaller;
    // The outcome `not_in_room` is not an error, because a caller with a session may watch without a seat.
    if (caller !== undefined) await greet(socket, caller, undefined, services);
  },
  async received(socket, message, services: LiveServices) {
    if (message.type === 'act') return answerAct(socket, message as z.output<typeof ActMessage>, services);
    const { serverKey, tab, ...credentials } = message as z.output<typeof Hello>;
    if (serverKey !== undefined) return greetServer(socket, serverKey, tab, services);
    const caller = await socket.callerOf(credentials);
    if (isAnswered(socket, caller, tab)) return;
    const outcome = await greet(socket, caller, tab, services);
    if (typeof outcome === 'string') throw refuse(outcome);
    socket.memory.answered = socket.memory.welcomed;
  },
  sendPrivate: (socket, services: LiveServices) => sendPrivatePart(socket, services),
  checked(socket, { serverKeys, listWriter, presence }: LiveServices) {
    const by = socket.memory.welcomed?.by;
    if (by === undefined || !('scopes' in by)) return;
    const ended = serverKeys.problemOf(by);
    if (ended === undefined) return;
    lose(socket, listWriter);
    void presence.bye(socket.id, SERVER, socket.connectionId);
    socket.refuse(refuseBadKey(ended));
  },
  async silent(socket, services: LiveServices, isHeard) {
    const { welcomed } = socket.memory;
    if (welcomed === undefined) return;
    if (isHeard) return greetAgain(socket, welcomed, services);
    services.listWriter.absent(socket);
    await services.presence.bye(socket.id, leaseholderOf(welcomed.by), socket.connectionId, SILENT_MS);
  },
  async closed(socket, { presence, listWriter }: LiveServices, silentMs) {
    const { id, memory, connectionId } = socket;
    listWriter.absent(socket);
    if (memory.welcomed !== undefined) await presence.bye(id, leaseholderOf(memory.welcomed.by), connectionId, silentMs);
  },
});

type LiveServices = ActServices & WelcomeServices & Pick<Services, 'feeds'>;
