import type { z } from 'zod';
import type { Room } from '../../src/features/rooms/model.ts';
import { monotonicMs } from '../measure/clock.ts';

/**
 * The message of a room's channel. The last field of the room's state is a stamp with the time of the change. The service, its
 * floors and its peers send the same bytes.
 */

const STAMP_DIGITS = 16;

/** A board of 64 fields. With four players the whole message is about a kilobyte. */
const BOARD = Array.from({ length: 64 }, (_, field) => (field * 7) % 13);

/** The state of a room that changes at `atMs`, on the clock of `monotonicMs`; by default now. */
export function stampedState(atMs: number = monotonicMs()): { turn: number; board: number[]; at: string } {
  const at = String(Math.round(atMs * 1000)).padStart(STAMP_DIGITS, '0');
  return { turn: 1, board: BOARD, at };
}

/** A room without its state. */
export type RoomDoc = Omit<z.output<typeof Room>, 'state'>;

/** A room of four players, without its state. */
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
    seatGraceSeconds: null,
    writers: 'host',
    public: false,
    tags: {},
    players: ['Ada', 'Bob', 'Cleo', 'Dan'].map((name, index) => ({
      id: `p${index + 1}`,
      name,
      ready: true,
      connected: true,
      host: index === 0,
      joinedAt: nowText,
      data: null,
    })),
    createdAt: nowText,
    updatedAt: nowText,
    startedAt: nowText,
    expiresAt: new Date(now + 7_200_000).toISOString(),
    stateSeq: seq,
  };
}

/** The message that a room's channel sends. */
export function roomMessage(doc: RoomDoc, stateText: string): string {
  return `{"type":"room","seq":${doc.seq},"room":${JSON.stringify(doc).slice(0, -1)},"state":${stateText}}}`;
}

/** Where a message contains `seq` and the stamp. Watchers receive thousands at a time, so they do not parse the JSON. */
export interface Offsets {
  /** Distance of the digits of `seq` from the start of the message. */
  readonly seqAt: number;
  /** Distance of the stamp from the end of the message. */
  readonly stampFromEnd: number;
}

export const plainOffsets: Offsets = { seqAt: '{"type":"room","seq":'.length, stampFromEnd: STAMP_DIGITS + '"}}}'.length };

/** Socket.IO packs the event's name and the message into an array. */
export const socketIoOffsets: Offsets = {
  seqAt: '42["room",'.length + plainOffsets.seqAt,
  stampFromEnd: plainOffsets.stampFromEnd + ']'.length,
};

/** SocketCluster packs the message into two objects, after the names of the event and of the channel (a five-letter code). */
export const socketClusterOffsets: Offsets = {
  seqAt: '{"event":"#publish","data":{"channel":"BCDFG","data":'.length + plainOffsets.seqAt,
  stampFromEnd: plainOffsets.stampFromEnd + '}}'.length,
};

export function seqIn(bytes: Buffer, messageAt: number, { seqAt }: Pick<Offsets, 'seqAt'>): number {
  let seq = 0;
  for (let place = messageAt + seqAt; isDigit(bytes[place]!); place++) seq = seq * 10 + bytes[place]! - ZERO;
  return seq;
}

/** The stamp of a message, on the clock of `monotonicMs`; NaN for a message without one. */
export function stampIn(bytes: Buffer, messageEnd: number, { stampFromEnd }: Pick<Offsets, 'stampFromEnd'>): number {
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
