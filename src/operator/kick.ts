import { z } from 'zod';
import { AccountId } from '../accounts/ids.ts';
import { invalid, refuse } from '../errors.ts';
import { roomKeys, roomLibrary, ttlMsOf } from '../features/rooms/model.ts';
import { defineScript } from '../redis/script.ts';
import { Account } from './named-accounts.ts';
import { roomChange } from './rooms.ts';

const kickScript = defineScript({
  file: new URL('kick-player.lua', import.meta.url),
  keys: ['room'],
  args: ['playerId', 'ttlMs'],
  answers: ['kicked', 'not_in_room', 'room_not_found', 'room_ended'],
  library: roomLibrary,
  durable: true,
});

const pardonScript = defineScript({
  file: new URL('allow-rejoin.lua', import.meta.url),
  keys: ['room'],
  args: ['accountId', 'ttlMs'],
  answers: ['pardoned', 'none', 'room_not_found'],
  library: roomLibrary,
  durable: true,
});

const NOBODY = 'Has no seat in this room';

export const kick = roomChange({
  verb: 'kick',
  words: ['player'],
  operationId: 'takePlayerOut',
  role: 'support',
  summary: 'Removes a player, or the host, from a room. The account cannot join again until `pardon`.',
  description:
    'The player loses the seat and its data, as after a kick by the host. A host hands the role over; a room without players ends.',
  fields: {
    player: z
      .string()
      .regex(/^p[1-9]\d{0,8}$/, 'Must be a playerId of the room, such as p2')
      .meta({ example: 'p2' }),
  },
  reply: z.object({ accountId: AccountId }),
  errors: ['room_ended', 'invalid_request'],
  body: { player: 'p2', reason: 'abuse, ticket 4711' },
  shown: ({ accountId }) => [`Kicked the account ${accountId}.`],
  async plan({ room, seats }, { player }, services) {
    const { code } = room;
    const seat = seats.find(({ playerId }) => playerId === player);
    if (room.phase === 'ended') return refuse('room_ended');
    if (seat === undefined) return invalid('player', NOBODY);
    const { name } = room.players.find(({ id }) => id === player)!;
    return {
      question: `Kick ${player} ("${name}", account ${seat.accountId}) out of the room ${code}?`,
      what: { player, account: seat.accountId },
      async act() {
        const args = { playerId: player, ttlMs: ttlMsOf(services.config) };
        const [word, accountId = ''] = await services.scripts.run(kickScript, { room: roomKeys.room(code) }, args);
        if (word === 'not_in_room') return invalid('player', NOBODY);
        return word === 'kicked' ? { accountId } : refuse(word);
      },
    };
  },
});

export const pardon = roomChange({
  verb: 'pardon',
  words: ['account'],
  operationId: 'pardonPlayer',
  role: 'support',
  summary: 'Lets an account rejoin a room from which it was kicked.',
  fields: { account: Account },
  reply: z.object({ wasKicked: z.boolean() }),
  body: { account: 'BQ5v1mHk2nYtZ8cXw0aLpR', reason: 'the wrong player' },
  shown: ({ wasKicked }) => [wasKicked ? 'The account may join again.' : 'The account was not kicked out of this room.'],
  async plan({ room }, { account }, services) {
    const { code } = room;
    return {
      question: `Let the account ${account} join the room ${code} again?`,
      what: { account },
      noted: ({ wasKicked }) => ({ wasKicked: wasKicked ? 'yes' : 'no' }),
      async act() {
        const args = { accountId: account, ttlMs: ttlMsOf(services.config) };
        const [word] = await services.scripts.run(pardonScript, { room: roomKeys.room(code) }, args);
        return word === 'room_not_found' ? refuse(word) : { wasKicked: word === 'pardoned' };
      },
    };
  },
});
