import { z } from 'zod';
import { endpoint, type Services } from '../../declare.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { GameId } from '../catalogue/model.ts';
import { invalid, refuse } from '../../errors.ts';
import { openRoom, type NewRoomServices } from './new-room.ts';
import { MAX_PLAYERS, PlayerCount, seatedReply, SeatedReply } from './model.ts';
import { roomOptions } from './room-options.ts';

export const createRoom = endpoint({
  method: 'POST',
  path: '/v1/rooms',
  operationId: 'createRoom',
  caller: 'required',
  keyScope: 'rooms',
  reach: 'own',
  keyNeedsAccount: false,
  summary: 'Opens a room with the caller as host and first player.',
  description:
    'A room expires ROOM_TTL_SECONDS (default: 2 hours) after its last change. Players join it by its code.\n\n' +
    'A server key of the scope `rooms` opens a room with `seatless: true`: it has no host, and the server takes no seat in it. Players ' +
    'join it, and the room stays when they leave. A key of one game opens rooms of that game.',
  body: z
    .object({
      installId: OptionalInstallId,
      ...roomOptions,
      game: GameId.optional(),
      maxPlayers: PlayerCount.default(8).meta({ description: `Number of seats, at most ${MAX_PLAYERS}.` }),
      public: z.boolean().default(false).meta({ description: 'Whether lists show the room.' }),
      seatless: z.boolean().optional().meta({ description: "With a server key only: a server's room, without a host." }),
    })
    .refine(({ minPlayers, maxPlayers }) => minPlayers <= maxPlayers, { path: ['minPlayers'], message: 'Must not be above maxPlayers' }),
  reply: SeatedReply,
  errors: ['server_only', 'invalid_request'],
  creates: true,
  example: `curl -s $base/v1/rooms -H 'content-type: application/json' -d '{"installId":"install-0001","name":"Ann","maxPlayers":4}'`,
  async handle({ caller, body, key }, services: NewRoomServices & Pick<Services, 'names'>) {
    const { name: sent, state: stateText = '{}', seatless: isSeatless = false, installId: _, ...settings } = body;
    if (isSeatless && key === undefined) return refuse('server_only', { field: 'seatless' });
    if (key !== undefined && !isSeatless) return invalid('seatless', 'Must be true with a server key, which takes no seat');
    const name = services.names.shown(caller?.accountId, sent);
    const game = settings.game ?? key?.game;
    const fields = await openRoom(isSeatless ? undefined : caller, name, { ...settings, game, stateText }, services);
    return seatedReply(fields, isSeatless ? { playerId: 'server', host: true } : { playerId: 'p1', host: true });
  },
});
