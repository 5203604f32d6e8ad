import { standingLibrary } from '../../accounts/standing.ts';
import { z } from 'zod';
import { settled } from '../../accounts/standing-look.ts';
import { opensAccount } from '../../accounts/prologues.ts';
import { invalid, rateLimited, refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { callerFrom, type Caller } from '../../server/identity/caller.ts';
import type { ServerKey } from '../../server/identity/server-keys.ts';
import { endpoint, type Services } from '../../declare.ts';
import { MAX_NAME_LENGTH, PlayerName } from '../../accounts/player-name.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { openLobby, type LobbyServices } from './lobby.ts';
import {
  isRoomCode,
  PlayerId,
  RoomCode,
  roomKeys,
  roomLibrary,
  roomPrelude,
  roomTimeArgs,
  roomTimes,
  seatedReply,
  SeatedReply,
  SEATS_KEPT_SECONDS,
  STATE_LIMIT_BYTES,
  StateText,
  type RoomDoc,
} from './model.ts';

const actions = ['join', 'leave', 'ready', 'unready', 'start', 'end', 'kick', 'transfer', 'lock', 'unlock', 'state', 'rematch'] as const;
type Action = (typeof actions)[number];

/** They act on a seat of the caller's own, and a server with a key has none. */
const ofPlayers: readonly Action[] = ['join', 'leave', 'ready', 'unready'];

const refusals = [
  'room_not_found',
  'forbidden',
  'not_in_room',
  'not_host',
  'room_ended',
  'room_started',
  'room_locked',
  'room_full',
  'not_enough_players',
  'invalid_request',
] as const;

const actScript = defineScript({
  file: new URL('act.lua', import.meta.url),
  keys: ['room', 'seats'],
  args: ['action', 'code', 'accountId', 'name', 'playerId', 'state', 'nextCode', ...roomTimeArgs],
  shared: ['keyGame', 'seatsKeptSeconds'],
  answers: ['done', 'lobby_wanted', ...refusals],
  prologue: opensAccount,
  slotOf: 'room',
  lists: { index: 'seats', member: 'code', keptSeconds: SEATS_KEPT_SECONDS },
  library: [roomLibrary, standingLibrary],
  prelude: roomPrelude,
});

/** Two fields that their actions need. The endpoint has them as optional, because it takes the bodies of all actions. */
const NeededPlayerId = PlayerId.meta({ description: 'The other player.' });
const NeededState = StateText.meta({
  description: `Any JSON of at most ${STATE_LIMIT_BYTES} bytes, nested at most 31 levels deep.`,
  example: { round: 1 },
});

const Body = z.object({
  installId: OptionalInstallId,
  name: PlayerName.optional().meta({
    description: `For \`join\`: 1 to ${MAX_NAME_LENGTH} characters; defaults to "Player 2" and so on.`,
  }),
  playerId: PlayerId.optional().meta({ description: 'For `kick` and `transfer`.' }),
  state: StateText.optional().meta({
    description: `For \`state\`: any JSON of at most ${STATE_LIMIT_BYTES} bytes, nested at most 31 levels deep.`,
  }),
});

/** For the description, the body's fields beside `installId`, and an example of them. */
const described: Readonly<Record<Action, { operationId: string; summary: string; fields?: z.ZodRawShape; example?: object }>> = {
  join: {
    operationId: 'joinRoom',
    summary: 'Takes a seat in the lobby. The same caller joining again, in any phase, gets the same seat.',
    fields: { name: PlayerName.optional().meta({ description: 'Defaults to "Player 2" and so on.', example: 'Bob' }) },
    example: { name: 'Bob' },
  },
  leave: {
    operationId: 'leaveRoom',
    summary:
      'Gives up the seat, in any phase. A leaving host hands over to the longest-seated player; the last player leaving ends the room.',
  },
  ready: { operationId: 'readyInRoom', summary: 'Tells the other players that the caller is ready.' },
  unready: { operationId: 'unreadyInRoom', summary: 'Tells the other players that the caller is not ready.' },
  start: { operationId: 'startRoom', summary: 'The host moves the room from lobby to playing. Repeating it is 200.' },
  end: { operationId: 'endRoom', summary: 'The host ends the room, in any phase. Repeating it is 200.' },
  kick: {
    operationId: 'kickPlayer',
    summary: 'The host removes another player, who may join again while the room is an unlocked lobby.',
    fields: { playerId: NeededPlayerId },
    example: { playerId: 'p2' },
  },
  transfer: {
    operationId: 'transferRoom',
    summary: 'The host makes another player the host.',
    fields: { playerId: NeededPlayerId },
    example: { playerId: 'p2' },
  },
  lock: { operationId: 'lockRoom', summary: 'The host lets the room refuse new players.' },
  unlock: { operationId: 'unlockRoom', summary: 'The host lets the room take new players again.' },
  state: {
    operationId: 'setRoomState',
    summary: "The host replaces the game's public state.",
    fields: { state: NeededState },
    example: { state: { round: 1 } },
  },
  rematch: {
    operationId: 'rematchRoom',
    summary: 'The host opens a lobby with the same game and player counts, named by `nextCode`. Repeating it gives the same `nextCode`.',
  },
};

const OPEN_A_ROOM =
  `code=$(curl -s $base/v1/rooms -H 'content-type: application/json' -d '{"installId":"install-0001"}' | ` +
  `sed 's/.*"code":"\\([A-Z]*\\)".*/\\1/'); `;

const variants = actions.map((action) => {
  const { operationId, summary, fields = {}, example = {} } = described[action];
  const body = JSON.stringify({ installId: action === 'join' ? 'install-0002' : 'install-0001', ...example });
  return {
    value: action,
    takesKey: !ofPlayers.includes(action),
    operationId,
    summary,
    body: z.object({ installId: OptionalInstallId, ...fields }),
    example: `${OPEN_A_ROOM}curl -s $base/v1/rooms/$code/${action} -H 'content-type: application/json' -d '${body}'`,
  };
});

export const actInRoom = endpoint({
  method: 'POST',
  path: '/v1/rooms/{code}/{action}',
  operationId: 'actInRoom',
  // The handler checks the action before the caller: an unknown action is 400 with or without credentials.
  caller: 'optional',
  keyScope: 'rooms',
  keyNeedsAccount: false,
  summary: 'Performs one action in a room: join, leave, ready, unready, start, end, kick, transfer, lock, unlock, state or rematch.',
  description: [
    'Every action is atomic, and raises `seq` only if it changes the room.',
    '- `join {name?}`: takes a seat in the lobby. The same caller joining again, in any phase, gets the same seat; nothing changes.',
    '- `leave`: gives up the seat, in any phase. A leaving host hands over to the longest-seated player; the last player leaving ends the room.',
    '- `ready`, `unready`: inform the other players. The host may start whether or not they are ready.',
    '- `start` (host): moves the room from lobby to playing; needs at least `minPlayers` players. Repeating it is 200.',
    '- `end` (host): ends the room, in any phase. Repeating it is 200. After that only `leave` and `rematch` can change the room.',
    '- `kick {playerId}` (host): removes another player, who may join again while the room is an unlocked lobby.',
    '- `transfer {playerId}` (host): makes another player the host.',
    '- `lock`, `unlock` (host): refuse or allow new players.',
    "- `state {state}` (host): replaces the game's public state.",
    '- `rematch` (host): ends the room if it has not ended, and opens a lobby with the same game and player counts, named by `nextCode`. ' +
      'The caller is the host and first player of the lobby; the other players join it. Repeating it gives the same `nextCode`.',
    '',
    'A server key of the scope `rooms` acts as the host of any room of its game, and a key without a game as the host of any room. It ' +
      'names no account, and `you` in its answers is the seat of the host as it is after the action. `kick` removes the host too: then, as ' +
      'when a host leaves, the longest-seated player becomes the host, and a room without players ends. With `rematch` the host is the ' +
      'first player of the lobby; a room that all players have left has no rematch (409 `room_ended`). `join`, `leave`, `ready` and ' +
      '`unready` are 403 `forbidden`: a server has no seat.',
  ].join('\n'),
  params: z.object({ code: RoomCode, action: z.string().meta({ enum: [...actions] }) }),
  body: Body,
  emptyBody: true,
  reply: SeatedReply,
  errors: ['unknown_action', 'identity_required', ...refusals],
  misses: ['room_not_found'],
  variants,
  example: variants[0]!.example,
  async handle({ params: { code, action }, body, caller, key, meta }, services: LobbyServices) {
    if (!isAction(action)) return refuse('unknown_action', { field: 'action' });
    if (key !== undefined && ofPlayers.includes(action))
      return refuse('forbidden', { message: 'A server key has no seat in a room: it acts as the host.', field: 'action' });
    const by = key ?? caller;
    if (by === undefined) return refuse('identity_required');
    if (!isRoomCode(code)) return refuse('room_not_found');
    if ((action === 'kick' || action === 'transfer') && body.playerId === undefined) return invalid('playerId', `Is needed to ${action}`);
    if (action === 'state' && body.state === undefined) return invalid('state', 'Is needed');

    let [word, ...figures] = await act(code, action, body, by, services);
    if (word === 'lobby_wanted') {
      const [docText, playerId, seatedId] = figures as [string, string, string];
      const host = key === undefined ? caller! : await hostOf(seatedId, meta, services);
      const nextCode = await openNextLobby(JSON.parse(docText) as RoomDoc, playerId, host, services);
      [word, ...figures] = await act(code, action, body, by, services, nextCode);
    }
    switch (word) {
      case 'done': {
        const [docText, stateText, playerId, isHost] = figures as [string, string, string, string];
        return seatedReply(docText, stateText, { playerId, host: isHost === '1' });
      }
      case 'lobby_wanted':
        throw new Error('act.lua answered lobby_wanted to a call with a nextCode');
      case 'invalid_request':
        return invalid(
          'playerId',
          action === 'kick' && key === undefined ? 'Must be another player in the room' : 'Must be a player in the room',
        );
      case 'forbidden':
        return refuse(word, { message: `This server key is for the game ${key?.game}.`, field: 'code' });
      default:
        return refuse(word);
    }
  },
});

/** @param by a player, or a server that acts as the host */
function act(
  code: string,
  action: Action,
  body: z.output<typeof Body>,
  by: Caller | ServerKey,
  { scripts, config, now }: LobbyServices,
  nextCode = '',
) {
  const isPlayer = 'accountId' in by;
  // A server takes no seat.
  const keys = { room: roomKeys.room(code), seats: isPlayer ? roomKeys.seats(by.accountId, now()) : '' };
  const args = {
    action,
    code,
    seatsKeptSeconds: SEATS_KEPT_SECONDS,
    accountId: isPlayer ? by.accountId : '',
    name: body.name ?? '',
    playerId: body.playerId ?? '',
    state: body.state ?? '',
    nextCode,
    keyGame: isPlayer ? '' : (by.game ?? '*'),
    ...roomTimes(now(), config),
  };
  return isPlayer ? scripts.runAs(by, actScript, keys, args) : scripts.runWithoutAccount(actScript, keys, args);
}

/**
 * Opens the lobby of a rematch.
 *
 * A new room has to be reserved as a creation, and `openLobby` draws random codes until one is free. The process does both, no
 * script. So a rematch takes three steps: `act.lua` answers `lobby_wanted`, this function opens the lobby, `act.lua` links it.
 * Of two rematches that race, the first link stands. A lobby whose link was lost expires by its TTL.
 * @returns the lobby's code
 */
async function openNextLobby(ended: RoomDoc, playerId: string, host: Caller, services: LobbyServices): Promise<string> {
  // A lobby counts as a creation, as any new room does. Otherwise rematches would bypass the limit on creations.
  const waitMs = await host.reserveCreation();
  if (waitMs > 0) throw rateLimited(waitMs);
  const name = ended.players.find(({ id }) => id === playerId)?.name;
  const { game, minPlayers, maxPlayers } = ended;
  const lobby = await openLobby(host, { game, minPlayers, maxPlayers, name, stateText: '{}' }, services);
  return lobby.code;
}

/**
 * The host as the caller of a server's rematch: the lobby is opened for the host's account. No creation of an address counts.
 * @param seatedId the account in the host's seat. A guest that moved keeps the seats that it had.
 */
async function hostOf(seatedId: string, client: { readonly address: string }, { scripts }: Pick<Services, 'scripts'>): Promise<Caller> {
  const { accountId } = await settled(seatedId, scripts);
  return callerFrom(client, accountId, undefined, undefined);
}

function isAction(text: string): text is Action {
  return (actions as readonly string[]).includes(text);
}
