import { kick, pardon } from '../kick.ts';
import { endRoom, showRoom } from '../rooms.ts';
import { commandOf, groupOf } from './operate.ts';
import { facts, minuteOfText, printable, table } from './table.ts';

export const rooms = groupOf(
  { name: 'rooms', summary: 'rooms and who sits in them' },
  commandOf(showRoom, ({ room, seats, connections, listed }) => {
    const owners = new Map(seats.map((seat) => [seat.playerId, seat]));
    const players = room.players.map(({ id, name, host, connected, joinedAt }) => [
      id,
      name,
      host ? 'host' : '',
      connected ? 'yes' : 'no',
      minuteOfText(joinedAt),
      owners.get(id)?.accountId ?? '',
    ]);
    const lines: [string, string][] = [
      ['game', room.game ?? ''],
      ['phase', `${room.phase}${room.locked ? ', locked' : ''}, change ${room.seq}`],
      ['made (UTC)', minuteOfText(room.createdAt)],
      ['expires (UTC)', minuteOfText(room.expiresAt)],
      ['connections', String(connections)],
      ['listed until (UTC)', listed === undefined ? '' : `${minuteOfText(listed.until)}, ${listed.reservedSeats} seats reserved`],
      ['next room', room.nextCode ?? ''],
    ];
    return [
      `Room ${room.code}`,
      facts(lines),
      ...(players.length === 0 ? [] : [table(['PLAYER', 'NAME', 'ROLE', 'CONNECTED', 'JOINED (UTC)', 'ACCOUNT'], players)]),
      `state: ${printable(JSON.stringify(room.state))}`,
      ...seats.flatMap(({ playerId, private: own }) =>
        own === undefined ? [] : [`${playerId} alone sees: ${printable(JSON.stringify(own))}`],
      ),
    ].join('\n\n');
  }),
  commandOf(kick, ({ accountId }) => `Kicked the account ${accountId}.`),
  commandOf(pardon, ({ wasKicked }) => (wasKicked ? 'The account may join again.' : 'The account was not kicked out of this room.')),
  commandOf(endRoom, ({ room: { code } }) => `The room ${code} has ended.`),
);
