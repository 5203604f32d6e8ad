import { z } from 'zod';
import { endpoint, type Services } from '../../declare.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { PlayerName } from '../../accounts/player-name.ts';
import { GameId } from '../catalogue/model.ts';
import { openLobby, type LobbyServices } from './lobby.ts';
import { MAX_PLAYERS, PlayerCount, seatedReply, SeatedReply, StateText } from './model.ts';

export const createRoom = endpoint({
  method: 'POST',
  path: '/v1/rooms',
  operationId: 'createRoom',
  caller: 'required',
  summary: 'Opens a room with the caller as host and first player.',
  description: 'A room expires ROOM_TTL_SECONDS (default: 2 hours) after its last change. Players join it by its code.',
  body: z
    .object({
      installId: OptionalInstallId,
      name: PlayerName.optional(),
      game: GameId.optional(),
      minPlayers: PlayerCount.default(1).meta({ description: 'Players needed to start.' }),
      maxPlayers: PlayerCount.default(8).meta({ description: `Number of seats, at most ${MAX_PLAYERS}.` }),
      state: StateText.optional(),
    })
    .refine(({ minPlayers, maxPlayers }) => minPlayers <= maxPlayers, { path: ['minPlayers'], message: 'Must not be above maxPlayers' }),
  reply: SeatedReply,
  creates: true,
  example: `curl -s $base/v1/rooms -H 'content-type: application/json' -d '{"installId":"install-0001","name":"Ann","maxPlayers":4}'`,
  async handle({ caller, body }, services: LobbyServices) {
    const { name, game, minPlayers, maxPlayers, state: stateText = '{}' } = body;
    const doc = await openLobby(caller, { name, game, minPlayers, maxPlayers, stateText }, services);
    return seatedReply(JSON.stringify(doc), stateText, { playerId: doc.hostId, host: true });
  },
});
