import { z } from 'zod';
import { refuse, type Refusal } from '../../errors.ts';
import { channel, type Services } from '../../declare.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import type { Caller } from '../../server/identity/caller.ts';
import type { ChannelSocket } from '../../server/live/channel.ts';
import { refuseBadKey } from '../../server/identity/key-check.ts';
import type { Presence } from './presence.ts';
import { InstallId } from '../../accounts/ids.ts';
import { SessionToken } from '../sessions/model.ts';
import { refuseKey } from '../../server/http/server-key-credential.ts';
import { defineScript } from '../../redis/script.ts';
import type { RoomState } from './feed.ts';
import { ActMessage, answerAct, roomActMessages, type ActServices, type Welcomed } from './live-acts.ts';
import { isRoomCode, Order, Room, RoomCode, roomKeys, roomLibrary, Tab, You, youJson } from './model.ts';
import { privatePart, seatedIn, type Private } from './record.ts';
import { budgetOf } from './seat-budgets.ts';
import type { RoomList } from './list/room-list.ts';

const Hello = z
  .object({
    type: z.literal('hello'),
    sessionToken: SessionToken.optional(),
    installId: InstallId.optional(),
    serverKey: z.string().max(256).optional().meta({ description: 'Of a server: the socket is then the room’s server. Never in a page.' }),
    tab: Tab.optional(),
  })
  .refine(({ sessionToken, installId, serverKey }) => (sessionToken ?? installId ?? serverKey) !== undefined, {
    path: ['installId'],
    message: 'Is needed, or a sessionToken',
  });

const readPrivate = defineScript({
  file: new URL('read-private.lua', import.meta.url),
  keys: ['room'],
  args: ['accountId', 'playerId', 'tab'],
  answers: ['private', 'room_not_found', 'not_in_room'],
  prologue: checksCaller,
  slotOf: 'room',
  library: roomLibrary,
  readOnly: true,
});

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
    welcome: z.object({ type: z.literal('welcome'), you: You, order: z.number().int().min(0).optional() }).meta({
      description: 'The answer to `hello`, sent to this connection only. `order` is the last order of the tab that the hello names.',
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
          .meta({ description: 'Why the act was refused, with the fields that the same refusal has over HTTP. The order is not used up.' }),
      })
      .meta({
        description:
          'The answer to the `act` of this order: the room’s `seq` after it, or the error that the action gives over HTTP. `replayed` marks ' +
          'an act that was done before.',
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
    act: ActMessage.meta({
      description:
        'Performs an action, after `welcome`. The tab is that of `hello`, or of the act. The answer is `acted`. A seat acts 30 times a ' +
        'second, 60 at once. Acts count against RATE_LIMIT_ACTS_PER_SECOND of the address, and not as requests where `type` comes first in ' +
        'the message. After a reconnection a tab first repeats the acts without an `acted`, in order: each act is done once.',
    }),
  },
  acts: roomActMessages,
  errors: ['room_not_found'],
  misses: ['room_not_found'],
  notFound: 'room_not_found',
  subject: ({ params }) => (isRoomCode(params.code) ? params.code : refuse('room_not_found')),
  feed: ({ feeds }: LiveServices) => feeds.room,
  memory: (): ConnectedPlayer => ({ welcomed: undefined, answered: undefined, sent: undefined }),
  async opened(socket, services: LiveServices) {
    const caller = socket.sessionCaller;
    // The outcome `not_in_room` is no error: a caller with a session may watch without a seat.
    if (caller !== undefined) await greet(socket, caller, undefined, services);
  },
  async received(socket, message, services: LiveServices) {
    if (message.type === 'act') return answerAct(socket, socket.memory.welcomed, message as z.output<typeof ActMessage>, services);
    const { serverKey, tab, ...credentials } = message as z.output<typeof Hello>;
    if (serverKey !== undefined) return greetServer(socket, serverKey, tab, services);
    const caller = await socket.callerOf(credentials);
    if (isAnswered(socket, caller, tab)) return;
    const outcome = await greet(socket, caller, tab, services);
    if (typeof outcome === 'string') throw refuse(outcome);
    socket.memory.answered = socket.memory.welcomed;
  },
  async sendPrivate(socket, { scripts }: LiveServices) {
    const { welcomed } = socket.memory;
    if (welcomed === undefined || !('accountId' in welcomed.by)) return;
    const { by, playerId, tab } = welcomed;
    const args = { accountId: by.accountId, playerId, tab: tab ?? '' };
    // The script checks the caller too: the message that a session has ended may be lost, or arrive late.
    const [word, field = '', order] = await scripts.runAs(by, readPrivate, { room: roomKeys.room(socket.id) }, args);
    const own = word === 'private' ? privatePart.parse(field) : undefined;
    // While the script ran, the caller may have lost the seat, or the connection may have sent a hello as another caller.
    if (own === undefined || socket.memory.welcomed !== welcomed) return;
    // The same part is not sent again. Its text is compared too, because after a failover a new change may have the seq of a lost change.
    if (own.seq === socket.memory.sent?.seq && own.text === socket.memory.sent.text) return;
    socket.memory.sent = own;
    const orderText = tab === undefined ? '' : `,"order":${order}`;
    socket.send(`{"type":"you","seq":${own.seq},"playerId":"${playerId}","private":${own.text}${orderText}}`);
  },
  checked(socket, { serverKeys, roomList }: LiveServices) {
    const by = socket.memory.welcomed?.by;
    if (by === undefined || !('scopes' in by)) return;
    const ended = serverKeys.problemOf(by);
    if (ended === undefined) return;
    lose(socket, roomList);
    socket.refuse(refuseBadKey(ended));
  },
  async closed(socket, { presence, roomList }: LiveServices) {
    const { id, memory, connectionId } = socket;
    const { welcomed } = memory;
    roomList.absent(socket);
    if (welcomed !== undefined && 'accountId' in welcomed.by) await presence.bye(id, welcomed.by.accountId, connectionId);
  },
});

type LiveServices = ActServices & Pick<Services, 'feeds' | 'presence' | 'scripts' | 'roomList'>;

/** What a channel remembers of its connection. */
interface ConnectedPlayer {
  /** The player or server for whom the connection was welcomed, and for whom it acts. Undefined: the connection only watches. */
  welcomed: Welcomed | undefined;
  /** The player of the last `welcome` that answered a hello. A welcome for the session of the upgrade request is not remembered. */
  answered: Welcomed | undefined;
  /** The last private part that was sent to the connection. */
  sent: Private | undefined;
}

/** Makes a connection a watcher that acts for nobody. */
function lose(socket: ChannelSocket<ConnectedPlayer>, roomList: RoomList): void {
  roomList.absent(socket);
  socket.memory.welcomed = socket.memory.answered = undefined;
  socket.name(undefined);
  socket.chargesTo(undefined);
}

/** Marks the caller connected, and sends `welcome`. @returns the seat, or the code of the refusal */
async function greet(socket: ChannelSocket<ConnectedPlayer>, caller: Caller, tab: string | undefined, services: LiveServices) {
  const { presence, roomList } = services;
  const { id, memory, connectionId } = socket;
  const lost = (reason: Refusal): void => {
    const by = memory.welcomed?.by;
    if (by === undefined || !('accountId' in by) || by.accountId !== caller.accountId) return;
    lose(socket, roomList);
    socket.refuse(reason);
  };
  const outcome = await presence.hello(id, caller, connectionId, lost, tab);
  if (typeof outcome === 'string') return outcome;
  const { playerId, private: own, order } = outcome;
  const before = memory.welcomed?.by;
  become(socket, { by: caller, playerId, tab, budget: budgetOf(id, caller.accountId) }, roomList);
  memory.sent = own;
  socket.send(`{"type":"welcome","you":${youJson(outcome)}${order === undefined ? '' : `,"order":${order}`}}`);
  // A private part that changed after the script of the hello ran and before `welcomed` was set is not in the welcome, and has to be sent.
  const { state } = socket;
  if (state !== undefined && state.privateAt > (own?.seq ?? 0)) socket.privateChanged();
  await replace(before, socket, presence);
  return outcome;
}

/** Welcomes a server whose hello has a server key. */
async function greetServer(
  socket: ChannelSocket<ConnectedPlayer>,
  serverKey: string,
  tab: string | undefined,
  { presence, scripts, roomList }: LiveServices,
): Promise<void> {
  const key = socket.keyOf(serverKey);
  const refusal = refuseKey(key, { keyScope: 'rooms' });
  if (refusal !== undefined) throw refusal;
  const { fields } = (socket.state as RoomState | undefined) ?? {};
  if (fields === undefined) throw refuse('room_not_found');
  if (key.game !== undefined && fields.get('game') !== key.game)
    throw refuse('forbidden', { message: `This server key is for the game ${key.game}.`, field: 'serverKey' });
  const args = { accountId: '', playerId: 'server', tab: tab ?? '' };
  const [word, , order] = await scripts.runWithoutAccount(readPrivate, { room: roomKeys.room(socket.id) }, args);
  if (word === 'room_not_found') throw refuse(word);
  const before = socket.memory.welcomed?.by;
  become(socket, { by: key, playerId: 'server', tab }, roomList);
  const last = tab === undefined ? undefined : Number(order);
  const orderText = last === undefined ? '' : `,"order":${last}`;
  socket.send(`{"type":"welcome","you":${youJson({ playerId: 'server', host: true, order: last })}${orderText}}`);
  await replace(before, socket, presence);
}

/** Makes a connection act for a player or a server. */
function become(socket: ChannelSocket<ConnectedPlayer>, welcomed: Welcomed, roomList: RoomList): void {
  roomList.present(socket, welcomed.playerId);
  socket.memory.welcomed = welcomed;
  socket.name(welcomed.playerId);
  socket.chargesTo('scopes' in welcomed.by ? welcomed.by : undefined);
}

/** Ends the lease of the caller that a connection acted for before its last hello, if the last hello is of another caller. */
async function replace(before: Welcomed['by'] | undefined, socket: ChannelSocket<ConnectedPlayer>, presence: Presence): Promise<void> {
  const now = socket.memory.welcomed?.by;
  if (before === undefined || !('accountId' in before)) return;
  if (now === undefined || !('accountId' in now) || now.accountId !== before.accountId)
    await presence.bye(socket.id, before.accountId, socket.connectionId);
}

/**
 * Whether the connection has already been welcomed after a hello of the same caller and tab, and the welcomed player still has the seat. A
 * player who left and joined again has a new player id.
 */
function isAnswered({ memory, state }: ChannelSocket<ConnectedPlayer>, caller: Caller, tab: string | undefined): boolean {
  const { answered, welcomed } = memory;
  if (welcomed === undefined || welcomed !== answered || !('accountId' in welcomed.by)) return false;
  if (welcomed.by.accountId !== caller.accountId || welcomed.tab !== tab) return false;
  return state !== undefined && seatedIn((state as RoomState).fields.get('players')!).includes(welcomed.playerId);
}
