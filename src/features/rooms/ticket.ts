import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { refuse } from '../../errors.ts';
import { endpoint, type Services } from '../../declare.ts';
import { defineScript } from '../../redis/script.ts';
import { isRoomCode, PlayerId, RoomCode, roomKeys, roomLibraries } from './model.ts';

/** The services of the endpoints that sign and verify tickets. */
export type TicketServices = Pick<Services, 'scripts' | 'tokens' | 'now'>;

const findSeat = defineScript({
  file: new URL('find-seat.lua', import.meta.url),
  keys: ['room'],
  args: ['accountId'],
  answers: ['seated', 'room_not_found', 'not_in_room', 'room_ended'],
  prologue: checksCaller,
  slotOf: 'room',
  library: roomLibraries,
  readOnly: true,
});

/** How long a ticket is valid. */
export const TICKET_SECONDS = 60;

/** The contents of a ticket, which proves to a game's own server that a player has a seat in a room. */
export interface Ticket {
  readonly code: string;
  readonly playerId: string;
  /** The account in the seat: the caller's account, or the account of a guest that moved into the caller's account. */
  readonly seatedId: string;
  /** The account of the caller who asked for the ticket. The ticket is valid only while the caller's credential is valid. */
  readonly accountId: string;
  /** The id of the caller's session. Undefined if the caller sent an installId. */
  readonly sessionId: string | undefined;
}

/**
 * Writes the contents of a ticket, separated by blanks, as the subject of the ticket's signed token. None of the parts contains a blank.
 */
function ticketSubject({ code, playerId, seatedId, accountId, sessionId }: Ticket): string {
  return [code, playerId, seatedId, accountId, ...(sessionId === undefined ? [] : [sessionId])].join(' ');
}

/**
 * Reads the contents of a ticket from the subject of its token. A ticket of an earlier version does not have the caller, so the account in
 * the seat counts as the caller. Tickets live for a minute.
 */
export function ticketIn(subject: string): Ticket {
  const [code = '', playerId = '', seatedId = '', accountId = seatedId, sessionId] = subject.split(' ');
  return { code, playerId, seatedId, accountId, sessionId };
}

export const roomTicket = endpoint({
  method: 'POST',
  path: '/v1/rooms/{code}/ticket',
  operationId: 'roomTicket',
  caller: 'required',
  summary: "Gives a player a ticket that proves the seat to the game's own server.",
  description:
    `The ticket names the room, the player and the account of the seat, is signed, and is valid for ${TICKET_SECONDS} seconds and for one ` +
    '`POST /v1/rooms/{code}/ticket/verify`. A game sends it to its own server when it connects there.',
  params: z.object({ code: RoomCode }),
  body: z.object({ installId: OptionalInstallId }),
  emptyBody: true,
  reply: z.object({ ticket: z.string(), playerId: PlayerId, expiresIn: z.number().int().meta({ description: 'Seconds.' }) }),
  errors: ['room_not_found', 'not_in_room', 'room_ended'],
  misses: ['room_not_found'],
  example:
    `code=$(curl -s $base/v1/rooms -H 'content-type: application/json' -d '{"installId":"install-0001"}' | ` +
    `sed 's/.*"code":"\\([A-Z]*\\)".*/\\1/'); curl -s $base/v1/rooms/$code/ticket -H 'content-type: application/json' -d '{"installId":"install-0001"}'`,
  async handle({ params: { code }, caller }, { scripts, tokens, now }: TicketServices) {
    if (!isRoomCode(code)) return refuse('room_not_found');
    const [word, playerId = '', seatedId = ''] = await scripts.runAs(
      caller,
      findSeat,
      { room: roomKeys.room(code) },
      { accountId: caller.accountId },
    );
    if (word !== 'seated') return refuse(word);
    const issuedAt = now();
    const ticket = tokens.sign('ticket', {
      subject: ticketSubject({ code, playerId, seatedId, accountId: caller.accountId, sessionId: caller.session?.id }),
      id: randomBytes(12).toString('base64url'),
      issuedAt,
      expiresAt: issuedAt + TICKET_SECONDS * 1000,
    });
    return { ticket, playerId, expiresIn: TICKET_SECONDS };
  },
});
