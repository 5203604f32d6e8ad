import { MAX_NAME_LENGTH } from '../../accounts/player-name.ts';
import { MAX_PLAYERS, MOST_TAGS, STATE_LIMIT_BYTES } from './model.ts';
import { fieldsOf, playerJson, newPlayer, roomJson } from './record.ts';

/** The most bytes of the public data of all seats together (`data_limit` of `room.lua`). */
const DATA_OF_ALL_BYTES = 16 * 1024;

/**
 * The most bytes of a tag in JSON: `"name":"text",` with a name of 32 letters and a text of 64 characters. JSON may write each of these
 * characters as `\u0000`.
 */
const TAG_BYTES = 1 + 32 + 2 + 1 + 64 * 6 + 1 + 1;

const NUMBER = String(Number.MAX_SAFE_INTEGER);
/** The longest id of a player. No room gives out that many seats. */
const ID = `p${1e15 - 1}`;
const TIME = '0';
const GAME = 'g'.repeat(64);

/** A name with the most bytes. A character takes four bytes at most. The two characters that JSON escapes take only two bytes each. */
const NAME = '\u{1f600}'.repeat(MAX_NAME_LENGTH);

const PLAYER_BYTES = Buffer.byteLength(`${playerJson(ID, newPlayer(NAME, new Date(0).toISOString()), '', '')},`);

/** The JSON of a room without players, tags and state, in which all other texts are as long as possible. */
const FRAME = roomJson(
  fieldsOf(
    Object.entries({
      ...{
        code: 'BCDFG',
        game: GAME,
        phase: 'playing',
        seq: NUMBER,
        hostId: ID,
        minPlayers: '64',
        maxPlayers: '64',
        locked: 'false',
        seatGraceSeconds: '3600',
      },
      ...{ writers: 'players', public: 'false', tags: '{}', players: '', state: '', stateSeq: NUMBER, nextCode: 'BCDFG' },
      ...{ createdAt: TIME, updatedAt: TIME, startedAt: TIME, endedAt: TIME, expiresAt: TIME },
    }).flat(),
  ),
);

/**
 * The most bytes of a room's JSON in answers and on channels: a room of 64 players with the longest names and data, all tags and the
 * longest state. The limits of sockets and topics must allow the largest room. A socket accepts one message of any length and then waits
 * (`maxBackpressure`), and a topic pushes ROOM_BYTES_PER_SECOND, which is at least 64 KiB.
 */
export const LARGEST_ROOM_BYTES =
  Buffer.byteLength(FRAME) + MOST_TAGS * TAG_BYTES + MAX_PLAYERS * PLAYER_BYTES + DATA_OF_ALL_BYTES + STATE_LIMIT_BYTES;
