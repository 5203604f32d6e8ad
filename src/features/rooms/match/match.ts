import { z } from 'zod';
import { OptionalInstallId } from '../../../accounts/ids.ts';
import { endpoint, type Services } from '../../../declare.ts';
import { Encoded } from '../../../server/http/endpoint.ts';
import { GameId } from '../../catalogue/model.ts';
import { MAX_PLAYERS, PlayerCount, Room, You, youJson } from '../model.ts';
import { roomJson } from '../record.ts';
import { roomOptions } from '../room-options.ts';

export const matchRoom = endpoint({
  method: 'POST',
  path: '/v1/rooms/match',
  operationId: 'matchRoom',
  caller: 'required',
  summary: 'Takes a seat in a public room of the game, or in a new one.',
  description:
    'The seat is in the oldest room of `GET /v1/rooms` with exactly these tags, and with `maxPlayers` if it is sent. If there is none, ' +
    'the seat is in a new public room, with the options of `POST /v1/rooms`. Many simultaneous calls fill rooms, because the seats of a new room are given ' +
    'out before the room exists. A caller that asks again within 10 s gets the same seat, as long as it has the seat. Each call counts ' +
    'against the limit of creations (RATE_LIMIT_CREATIONS_PER_MINUTE).\n\n' +
    'Without `seatGraceSeconds` a new room has 10 until it starts, so that nobody waits with a player who has closed the game.',
  body: z
    .object({
      installId: OptionalInstallId,
      ...roomOptions,
      game: GameId,
      maxPlayers: PlayerCount.min(2)
        .optional()
        .meta({
          description: `Number of seats, 2 to ${MAX_PLAYERS}. Default: any number, and for a new room 8, or minPlayers if that is more.`,
        }),
    })
    .refine(({ minPlayers, maxPlayers = MAX_PLAYERS }) => minPlayers <= maxPlayers, {
      path: ['minPlayers'],
      message: 'Must not be above maxPlayers',
    }),
  reply: z.object({
    room: Room,
    you: You,
    created: z.boolean().meta({ description: 'Whether the caller created the room, and so is the first host of the room.' }),
  }),
  creates: true,
  example:
    `curl -s $base/v1/rooms/match -H 'content-type: application/json' ` +
    `-d '{"installId":"install-0001","game":"pebble-drop","tags":{"mode":"duel"},"maxPlayers":2,"startWhenFull":true}'`,
  async handle({ caller, body }, { matches, names }: Pick<Services, 'matches' | 'names'>) {
    const { installId: _, state: stateText = '{}', ...wanted } = body;
    const { fields, you, created } = await matches.match(caller, {
      ...wanted,
      stateText,
      name: names.shown(caller.accountId, wanted.name),
      maxPlayers: wanted.maxPlayers,
    });
    return new Encoded(`{"ok":true,"room":${roomJson(fields)},"you":${youJson(you)},"created":${created}}`);
  },
});
