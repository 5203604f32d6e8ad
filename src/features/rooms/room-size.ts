import { MAX_NAME_LENGTH } from '../../accounts/player-name.ts';
import { MAX_PLAYERS, MOST_TAGS, STATE_LIMIT_BYTES } from './model.ts';
import { fieldsOf, playerJson, newPlayer, roomJson } from './record.ts';

/** The public data of all seats together: `data_limit` of `room.lua`. */
const DATA_OF_ALL_BYTES = 16 * 1024;

/** A tag is `"name":"text",` with 32 letters and 64 characters, each of which JSON may write as `\u0000`. */
const TAG_BYTES = 1 + 32 + 2 + 1 + 64 * 6 + 1 + 1;

const NUMBER = String(Number.MAX_SAFE_INTEGER);
/** The longest id: no room gives out that many seats. */
const ID = `p${1e15 - 1}`;
const TIME = '0';
const GAME = 'g'.repeat(64);

/** A character of a name takes four bytes at most; the two characters that JSON escapes take only two. */
const NAME = '\u{1f600}'.repeat(MAX_NAME_LENGTH);

const PLAYER_BYTES = Buffer.byteLength(`${playerJson(ID, newPlayer(NAME, new Date(0).toISOString()), '', '')},`);

/** A room without players, tags and state, with each other text as long as possible. */
const FRAME = roomJson(
  fieldsOf(
    Object.entries({
      ...{ code: 'BCDFG', game: GAME, phase: 'playing', seq: NUMBER, hostId: ID, minPlayers: '64', maxPlayers: '64', locked: 'false' },
      ...{ writers: 'players', public: 'false', tags: '{}', players: '', state: '', stateSeq: NUMBER, nextCode: 'BCDFG' },
      ...{ createdAt: TIME, updatedAt: TIME, startedAt: TIME, endedAt: TIME, expiresAt: TIME },
    }).flat(),
  ),
);

/**
 * Most bytes of a room's public JSON in answers and channels: 64 players with the longest names and data, all tags, and the longest state.
 * Limits of sockets and topics must allow such a room: a socket takes one message of any length and then waits (`maxBackpressure`), a topic
 * pushes ROOM_BYTES_PER_SECOND, at least 64 KiB.
 */
export const LARGEST_ROOM_BYTES =
  Buffer.byteLength(FRAME) + MOST_TAGS * TAG_BYTES + MAX_PLAYERS * PLAYER_BYTES + DATA_OF_ALL_BYTES + STATE_LIMIT_BYTES;
