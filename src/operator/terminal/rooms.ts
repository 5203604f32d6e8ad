import { kick, pardon } from '../kick.ts';
import { endRoom, showRoom } from '../rooms.ts';
import type { CommandGroup } from './command.ts';
import { commandOf } from './operate.ts';
import { facts, minuteOfText, printable, table } from './table.ts';

export const rooms: CommandGroup = {
  name: 'rooms',
  summary: 'rooms and who sits in them',
  commands: {
    show: commandOf(showRoom, {
      words: ['CODE'],
      flags: {
        private: { summary: 'also what single players see. The log keeps that you looked' },
        reason: { value: 'TEXT', summary: 'with --private: why, for other operators. Needed' },
      },
      logged: ['private'],
      input: ({ words: [code], flags }) => ({ code, private: flags['private'], reason: flags['reason'] }),
      text({ room, seats, connections, listed }) {
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
      },
    }),
    kick: commandOf(kick, {
      words: ['CODE', 'PLAYER'],
      changes: true,
      input: ({ words: [code, player] }) => ({ code, player }),
      text: ({ accountId }) => `Kicked the account ${accountId}.`,
    }),
    pardon: commandOf(pardon, {
      words: ['CODE', 'ACCOUNTID'],
      changes: true,
      input: ({ words: [code, account] }) => ({ code, account }),
      text: ({ wasKicked }) => (wasKicked ? 'The account may join again.' : 'The account was not kicked out of this room.'),
    }),
    end: commandOf(endRoom, {
      words: ['CODE'],
      changes: true,
      input: ({ words: [code] }) => ({ code }),
      text: ({ room: { code } }) => `The room ${code} has ended.`,
    }),
  },
};
