import { kick, pardon } from '../kick.ts';
import { endRoom, showRoom } from '../rooms.ts';
import { ofOperators, players, roomFacts, seatsOf } from '../shown/shown-rooms.ts';
import { commandOf, groupOf } from './operate.ts';
import { facts, listed, paragraphs, printable, titled } from './table.ts';

export const rooms = groupOf(
  { name: 'rooms', summary: 'rooms and who sits in them' },
  commandOf(showRoom, (found) =>
    paragraphs(
      `Room ${found.room.code}`,
      facts([...roomFacts(found.room), ...ofOperators(found)]),
      listed(players, found.room.players),
      titled(seatsOf(found.room), found.seats),
      `state: ${printable(JSON.stringify(found.room.state))}`,
      ...found.seats.flatMap(({ playerId, private: own }) =>
        own === undefined ? [] : [`${playerId} alone sees: ${printable(JSON.stringify(own))}`],
      ),
    ),
  ),
  commandOf(kick, ({ accountId }) => `Kicked the account ${accountId}.`),
  commandOf(pardon, ({ wasKicked }) => (wasKicked ? 'The account may join again.' : 'The account was not kicked out of this room.')),
  commandOf(endRoom, ({ room: { code } }) => `The room ${code} has ended.`),
);
