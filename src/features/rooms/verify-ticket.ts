import { z } from 'zod';
import { credentialWord } from '../../accounts/account.ts';
import { AccountId } from '../../accounts/ids.ts';
import { refuse } from '../../errors.ts';
import { endpoint } from '../../declare.ts';
import { defineScript } from '../../redis/script.ts';
import { PlayerId, RoomCode, roomKeys, roomLibrary } from './model.ts';
import { callerNamed } from '../../server/identity/caller.ts';
import { ticketIn, TICKET_SECONDS, type TicketServices } from './ticket.ts';

const useTicket = defineScript({
  file: new URL('use-ticket.lua', import.meta.url),
  keys: ['room', 'used'],
  args: ['playerId', 'accountId', 'keyGame', 'keptMs'],
  answers: ['used', 'bad_token', 'forbidden'],
  library: roomLibrary,
  durable: true,
});

/**
 * How long Redis remembers a used ticket, in milliseconds. A ticket is valid for less time than this, even if the clocks of processes
 * differ.
 */
const USED_KEPT_MS = 2 * TICKET_SECONDS * 1000;

export const verifyTicket = endpoint({
  method: 'POST',
  path: '/v1/rooms/{code}/ticket/verify',
  operationId: 'verifyRoomTicket',
  caller: 'none',
  keyScope: 'rooms',
  reach: 'room',
  summary: "Tells a game's own server, once, whose ticket this is.",
  description:
    'Needs a server key with the scope `rooms`; without one it is 403 `server_only`. A ticket is 401 `bad_token` if it was used, has ' +
    'expired, belongs to another room, or if its player has lost the seat. It is also 401 if its caller may not act any more: the ' +
    'account was banned or deleted or moved, or the session that asked for the ticket has ended. `accountId` is the account in the ' +
    'seat: give coins to ' +
    'this one.',
  params: z.object({ code: RoomCode }),
  body: z.object({ ticket: z.string() }),
  reply: z.object({ playerId: PlayerId, accountId: AccountId }),
  errors: ['server_only', 'forbidden', 'bad_token'],
  example: `curl -s $base/v1/rooms/BCDFG/ticket/verify -H "authorization: Bearer $COINOP_KEY" -H 'content-type: application/json' -d '{"ticket":"ticket-of-a-player"}'`,
  async handle({ params: { code }, body: { ticket }, key }, { tokens, scripts, now }: TicketServices) {
    if (key === undefined) return refuse('server_only', { message: 'This needs a server key with the scope rooms.' });
    const claims = tokens.verify('ticket', ticket, now());
    const { code: ofCode, playerId, seatedId, accountId, sessionId } = ticketIn(claims?.subject ?? '');
    if (claims === undefined || ofCode !== code) return refuse('bad_token', { message: 'The ticket is not valid.', field: 'ticket' });
    // The caller is checked before the ticket is marked as used, so that the ticket is not used up if this check fails.
    if ((await credentialWord(callerNamed(accountId, sessionId), scripts)) !== 'open')
      return refuse('bad_token', { message: 'The player who asked for the ticket may not act any more.', field: 'ticket' });
    const keys = { room: roomKeys.room(code), used: roomKeys.usedTicket(code, claims.id) };
    const [word] = await scripts.run(useTicket, keys, { playerId, accountId: seatedId, keyGame: key.game ?? '*', keptMs: USED_KEPT_MS });
    if (word === 'forbidden') return refuse(word, { message: `This server key is for the game ${key.game}.`, field: 'code' });
    if (word === 'bad_token')
      return refuse(word, { message: 'The ticket was used already, or its player has no seat any more.', field: 'ticket' });
    return { playerId, accountId };
  },
});
