import { z } from 'zod';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { MAX_NAME_LENGTH, PlayerName } from '../../accounts/player-name.ts';
import { invalid, type ErrorCode, type Refusal } from '../../errors.ts';
import {
  DATA_LIMIT_BYTES,
  FreeJson,
  jsonText,
  MAX_PLAYERS,
  Order,
  PlayerCount,
  PlayerId,
  SeatGrace,
  STATE_LIMIT_BYTES,
  StateText,
  Tab,
  Tags,
  withoutProto,
  Writers,
} from './model.ts';

const DataText = jsonText(DATA_LIMIT_BYTES);

/** A merge patch. The patch itself has no bound, because the text that results from the merge and the whole request are bounded. */
const Merge = FreeJson.meta({
  description:
    'For `state`, `data` and `private`, in place of the whole value: a JSON merge patch (RFC 7396), applied deeply to the current value. ' +
    '`null` removes a member, a list is replaced as a whole. The result has the bound of the whole value.',
  example: { x: 4 },
});

const Seats = withoutProto(
  z
    .record(PlayerId, DataText)
    .refine((seats) => Object.keys(seats).length <= MAX_PLAYERS, `Must be at most ${MAX_PLAYERS}`)
    .meta({
      description:
        `For \`private\`: the private part of each of these players, by player id: any JSON of at most ${DATA_LIMIT_BYTES} bytes each. It ` +
        "replaces the player's old part; other players keep theirs. A request has room for 15 parts of that length.",
      example: { p1: ['hearts-7'] },
    }),
);

const To = z
  .array(z.string().regex(/^(?:p[1-9]\d{0,14}|server)$/, 'Must be the id of a player, or server'))
  .min(1)
  .max(MAX_PLAYERS + 1)
  .meta({
    description: 'For `message`: player ids, or `server`: only their channels get it. Default: every channel of the room.',
    example: ['p2'],
  });

/**
 * The fields that bodies of acts may have, except for the caller's credential. This is for all actions together. `actions` lists the fields
 * of each action.
 */
export const actFields = {
  name: PlayerName.optional().meta({ description: `For \`join\`: 1 to ${MAX_NAME_LENGTH} characters; defaults to "Player 2" and so on.` }),
  playerId: PlayerId.optional().meta({ description: 'For `kick` and `transfer`: the other player.' }),
  state: StateText.optional().meta({
    description: `For \`state\` and \`private\`: any JSON of at most ${STATE_LIMIT_BYTES} bytes, nested at most 31 levels deep.`,
    example: { round: 1 },
  }),
  merge: Merge.optional(),
  ifStateSeq: z
    .number()
    .int()
    .min(0)
    .optional()
    .meta({ description: 'With `state` or `merge`: the `stateSeq` that the room must have, else 409 `stale_state`.' }),
  data: DataText.optional().meta({
    description: `For \`data\` and \`message\`: any JSON of at most ${DATA_LIMIT_BYTES} bytes.`,
    example: { x: 3, y: 4 },
  }),
  seats: Seats.optional(),
  to: To.optional(),
  public: z.boolean().optional(),
  tags: Tags.optional(),
  minPlayers: PlayerCount.optional(),
  maxPlayers: PlayerCount.optional(),
  writers: Writers.optional(),
  seatGraceSeconds: SeatGrace.optional(),
  order: Order.optional(),
  tab: Tab.optional(),
} as const;

const ActBody = z.object(actFields);

/** The fields of an act's body, after each was checked alone. */
export type ActBody = z.output<typeof ActBody>;

type Field = keyof typeof actFields;

interface Action {
  readonly operationId: string;
  readonly summary: string;
  /** The text about the action in the endpoint's description: who may perform it, and its effect. */
  readonly rule: string;
  /** The fields of the action's body. */
  readonly fields?: readonly Field[];
  /** The fields without which the action is refused. */
  readonly required?: readonly Field[];
  /** Two fields of which the body must have exactly one. */
  readonly oneOf?: readonly [Field, Field];
  /** The error codes with which the action may be refused, except for the codes that any request may get. */
  readonly errors: readonly ErrorCode[];
  /** The fields of an example body. */
  readonly example?: object;
  /** True if the action needs a seat. A server with a key cannot perform such an action. */
  readonly isOfPlayers?: true;
  /** Checks rules that concern several fields of the body. */
  readonly check?: (body: ActBody) => Refusal | undefined;
}

/** The error codes of actions that any seated player may perform. */
const OF_SEATED = ['room_not_found', 'not_in_room'] as const;

/** The error codes of actions that only the host may perform. */
const OF_HOST = [...OF_SEATED, 'not_host'] as const;

const otherPlayer = { fields: ['playerId'], required: ['playerId'], example: { playerId: 'p2' } } as const;
const settings = ['public', 'tags', 'minPlayers', 'maxPlayers', 'writers', 'seatGraceSeconds'] as const;

/** Every action that players and servers may perform in a room, by its name. */
export const actions = {
  join: {
    operationId: 'joinRoom',
    summary: 'Takes a seat in the lobby. A caller who joins again, in any phase, gets the same seat.',
    rule:
      'takes a seat in the lobby. A caller who joins again, in any phase, gets the same seat, and nothing changes. An account that was ' +
      'kicked is refused (403 `kicked`).',
    errors: ['room_not_found', 'kicked', 'room_ended', 'room_started', 'room_locked', 'room_full'],
    fields: ['name'],
    example: { name: 'Bob' },
    isOfPlayers: true,
  },
  leave: {
    operationId: 'leaveRoom',
    summary:
      'Gives up the seat, in any phase. If the host leaves, the player who has been seated longest becomes the host. When the last player leaves, the room ends.',
    rule: 'gives up the seat, in any phase. If the host leaves, the player who has been seated longest becomes the host. When the last player leaves, the room ends.',
    errors: OF_SEATED,
    isOfPlayers: true,
  },
  ready: {
    operationId: 'readyInRoom',
    summary: 'Tells the other players that the caller is ready.',
    rule: 'tells the other players that the caller is ready. The host may start regardless.',
    errors: [...OF_SEATED, 'room_ended'],
    isOfPlayers: true,
  },
  unready: {
    operationId: 'unreadyInRoom',
    summary: 'Tells the other players that the caller is not ready.',
    rule: 'takes `ready` back.',
    errors: [...OF_SEATED, 'room_ended'],
    isOfPlayers: true,
  },
  start: {
    operationId: 'startRoom',
    summary: 'The host moves the room from lobby to playing. A repeated call is answered with 200.',
    rule: '(host) moves the room from lobby to playing; needs at least `minPlayers` players. Repeating it is 200.',
    errors: [...OF_HOST, 'room_ended', 'not_enough_players'],
  },
  end: {
    operationId: 'endRoom',
    summary: 'The host ends the room, in any phase. A repeated call is answered with 200.',
    rule: '(host) ends the room, in any phase. Repeating it is 200. After that only `leave` and `rematch` can change the room.',
    errors: OF_HOST,
  },
  kick: {
    operationId: 'kickPlayer',
    summary: 'The host removes another player, who then cannot join again.',
    rule: '(host) removes another player, whose account cannot join this room again.',
    errors: [...OF_HOST, 'room_ended'],
    ...otherPlayer,
  },
  transfer: {
    operationId: 'transferRoom',
    summary: 'The host makes another player the host.',
    rule: '(host) makes another player the host.',
    errors: [...OF_HOST, 'room_ended'],
    ...otherPlayer,
  },
  lock: {
    operationId: 'lockRoom',
    summary: 'The host locks the room, which then refuses new players.',
    rule: '(host) refuses new players.',
    errors: [...OF_HOST, 'room_ended'],
  },
  unlock: {
    operationId: 'unlockRoom',
    summary: 'The host unlocks the room, which then accepts new players again.',
    rule: '(host) takes new players again.',
    errors: [...OF_HOST, 'room_ended'],
  },
  settings: {
    operationId: 'changeRoomSettings',
    summary: 'The host changes the settings of the lobby.',
    rule: '(host) changes settings of the lobby; those left out stay. `maxPlayers` is never below the players that have seats.',
    errors: [...OF_HOST, 'room_ended', 'room_started'],
    fields: settings,
    example: { maxPlayers: 6, tags: { mode: 'duel' } },
    check: (body) =>
      settings.some((name) => body[name] !== undefined) ? undefined : invalid(settings[0], `Is needed, or ${settings.slice(1).join(', ')}`),
  },
  state: {
    operationId: 'setRoomState',
    summary: "Replaces the game's public state, or merges into it.",
    rule:
      "replaces the game's public state, or changes it by a merge patch (RFC 7396). The room's `writers` says who may: the host (403 " +
      '`not_host` for others), every player, or only a server with a key (403 `not_writer`). With `ifStateSeq` only if the room has that ' +
      '`stateSeq`, else 409 `stale_state` with the current state.',
    errors: [...OF_HOST, 'not_writer', 'stale_state', 'room_ended'],
    fields: ['state', 'merge', 'ifStateSeq'],
    example: { state: { round: 1 } },
    oneOf: ['state', 'merge'],
  },
  data: {
    operationId: 'setPlayerData',
    summary: "Sets the caller's own public data, or merges into it.",
    rule:
      "sets the caller's own public data, `players[].data`, or changes it by a merge patch; in every phase but `ended`. Nobody else can " +
      `write it. At most ${DATA_LIMIT_BYTES} bytes, in a room with more than 16 seats 16 KiB / \`maxPlayers\`.`,
    errors: [...OF_SEATED, 'room_ended'],
    fields: ['data', 'merge'],
    example: { data: { x: 3, y: 4 } },
    isOfPlayers: true,
    oneOf: ['data', 'merge'],
  },
  private: {
    operationId: 'setPrivateData',
    summary: 'The host gives players private parts, such as a hand of cards. No player sees the part of another.',
    rule:
      '(host) gives players private parts that only they see; with `state` or `merge` the state changes in the same step. A player gets ' +
      'the part as `you.private` in answers, and on its channel.',
    errors: [...OF_HOST, 'not_writer', 'stale_state', 'room_ended'],
    fields: ['seats', 'state', 'merge', 'ifStateSeq'],
    required: ['seats'],
    example: { seats: { p1: ['hearts-7'] } },
    check: (body) => (body.state !== undefined && body.merge !== undefined ? invalid('merge', 'Must not be sent with state') : undefined),
  },
  message: {
    operationId: 'sendMessage',
    summary: 'Sends a message to the channels of the room.',
    rule:
      'sends a message to every channel of the room, or with `to` only to those of these players. All channels get messages in the same ' +
      'order, each at most once. Messages are not stored: a player without a channel misses them. A seat sends 20 a second, 40 at once.',
    errors: [...OF_SEATED, 'room_ended'],
    fields: ['data', 'to'],
    required: ['data'],
    example: { data: { text: 'hello' } },
  },
  rematch: {
    operationId: 'rematchRoom',
    summary: 'The host opens a lobby with the same game and settings, named by `nextCode`. Repeating it gives the same `nextCode`.',
    rule:
      '(host) ends the room if it has not ended, and opens a lobby with the same game and settings, named by `nextCode`. The caller is the ' +
      'host and first player of the lobby; the other players join it. Repeating it gives the same `nextCode`.',
    errors: [...OF_HOST, 'room_ended'],
  },
} as const satisfies Record<string, Action>;

export type ActionName = keyof typeof actions;

export const actionNames = Object.keys(actions) as ActionName[];

export function isAction(text: string): text is ActionName {
  return Object.hasOwn(actions, text);
}

export function actionOf(name: ActionName): Action {
  return actions[name];
}

/** Finds the problem of an act's body as a whole, if it has one. The calling code has already checked each field alone. */
export function checkAct(name: ActionName, body: ActBody): Refusal | undefined {
  const { required = [], oneOf, check } = actionOf(name);
  const missing = required.find((field) => body[field] === undefined);
  if (missing !== undefined) return invalid(missing, `Is needed to ${name}`);
  return (oneOf && exactlyOne(body, ...oneOf)) ?? check?.(body);
}

function exactlyOne(body: ActBody, field: Field, other: Field): Refusal | undefined {
  if (body[field] === undefined && body[other] === undefined) return invalid(field, `Is needed, or ${other}`);
  return body[field] !== undefined && body[other] !== undefined ? invalid(other, `Must not be sent with ${field}`) : undefined;
}

/**
 * The schema that checks each field of an action alone. All fields are optional in the schema, because `checkAct` reports a missing field.
 */
export function fieldsShapeOf(name: ActionName): z.ZodObject {
  const { fields = [] } = actionOf(name);
  return z.object({ ...Object.fromEntries(fields.map((field) => [field, actFields[field]])), tab: actFields.tab });
}

/** The schema of the body of one action, for the API description. */
export function bodyOf(name: ActionName) {
  const { fields = [], required = [] } = actionOf(name);
  const own = fields.map((field) => [field, required.includes(field) ? actFields[field].unwrap() : actFields[field]] as const);
  const ordered = name === 'join' ? {} : { order: actFields.order, tab: actFields.tab };
  return z.object({ installId: OptionalInstallId, ...Object.fromEntries(own), ...ordered });
}
