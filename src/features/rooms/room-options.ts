import { z } from 'zod';
import { PlayerName } from '../../accounts/player-name.ts';
import { PlayerCount, SeatGrace, StateText, Tags, Writers } from './model.ts';

/** The options of a new room, for `POST /v1/rooms`, and for the room that `POST /v1/rooms/match` opens if no room fits. */
export const roomOptions = {
  name: PlayerName.optional(),
  minPlayers: PlayerCount.default(1).meta({ description: 'Players needed to start.' }),
  state: StateText.optional(),
  writers: Writers.default('host'),
  tags: Tags.prefault({}),
  seatGraceSeconds: SeatGrace.optional(),
  startWhenFull: z
    .boolean()
    .default(false)
    .meta({
      description:
        'Whether the room starts once all seats are taken and no player is away, judged when a player joins and when one is welcomed on a ' +
        'channel. A player who never had a channel is not away.',
    }),
} as const;
