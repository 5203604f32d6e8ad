import { roomText, type RoomDoc } from '../../src/features/rooms/model.ts';
import { monotonicMs } from '../measure/clock.ts';

/**
 * What watchers are sent: a room as the service has it, with when it changed in the last place of its state. The service's
 * floors and peers send the same bytes.
 */

const STAMP_DIGITS = 16;

/** A game of four with a board of 64 fields: with the room around it about a kilobyte. */
const BOARD = Array.from({ length: 64 }, (_, field) => (field * 7) % 13);

/** The state of a room that changes at this moment (`monotonicMs`; left out: now). */
export function stampedState(atMs: number = monotonicMs()): { turn: number; board: number[]; at: string } {
  const at = String(Math.round(atMs * 1000)).padStart(STAMP_DIGITS, '0');
  return { turn: 1, board: BOARD, at };
}

/** A room of four players, as it is sent but for its state. */
export function roomDoc(code: string, seq: number): RoomDoc {
  const now = Date.now();
  const nowText = new Date(now).toISOString();
  return {
    code,
    game: 'pebble-drop',
    phase: 'playing',
    seq,
    hostId: 'p1',
    minPlayers: 1,
    maxPlayers: 8,
    locked: false,
    players: ['Ada', 'Bob', 'Cleo', 'Dan'].map((name, index) => ({
      id: `p${index + 1}`,
      name,
      ready: true,
      connected: true,
      host: index === 0,
      joinedAt: nowText,
    })),
    createdAt: nowText,
    updatedAt: nowText,
    startedAt: nowText,
    expiresAt: new Date(now + 7_200_000).toISOString(),
  };
}

/** The message that a room's channel sends. */
export function roomMessage(doc: RoomDoc, stateText: string): string {
  return `{"type":"room","seq":${doc.seq},"room":${roomText(JSON.stringify(doc), stateText)}}`;
}

/** A message as far as a watcher looks at it. It is read where it lies: thousands come at a time. */
export interface Marks {
  /** Where the digits of `seq` start. */
  readonly seqAt: number;
  /** How far from the message's end the stamp starts. */
  readonly stampFromEnd: number;
}

export const plainMarks: Marks = { seqAt: '{"type":"room","seq":'.length, stampFromEnd: STAMP_DIGITS + '"}}}'.length };

/** Socket.IO puts the event's name in front and everything into an array. */
export const socketIoMarks: Marks = {
  seqAt: '42["room",'.length + plainMarks.seqAt,
  stampFromEnd: plainMarks.stampFromEnd + ']'.length,
};

/** SocketCluster puts the event's and the channel's name in front, a room's code of five letters, and two objects around it. */
export const socketClusterMarks: Marks = {
  seqAt: '{"event":"#publish","data":{"channel":"BCDFG","data":'.length + plainMarks.seqAt,
  stampFromEnd: plainMarks.stampFromEnd + '}}'.length,
};

export function seqIn(bytes: Buffer, messageAt: number, { seqAt }: Marks): number {
  let seq = 0;
  for (let place = messageAt + seqAt; isDigit(bytes[place]!); place++) seq = seq * 10 + bytes[place]! - ZERO;
  return seq;
}

/** When the state of this message changed, on the clock of `monotonicMs`; NaN in a room that has no stamp yet. */
export function stampIn(bytes: Buffer, messageEnd: number, { stampFromEnd }: Marks): number {
  const from = messageEnd - stampFromEnd;
  if (from < 0) return Number.NaN;
  let stamp = 0;
  for (let place = from; place < from + STAMP_DIGITS; place++) {
    if (!isDigit(bytes[place]!)) return Number.NaN;
    stamp = stamp * 10 + bytes[place]! - ZERO;
  }
  return stamp / 1000;
}

const ZERO = 48;

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= ZERO + 9;
}
