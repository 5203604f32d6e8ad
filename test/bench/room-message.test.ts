import { expect, test } from 'vitest';
import {
  plainOffsets,
  roomDoc,
  roomMessage,
  seqIn,
  socketClusterOffsets,
  socketIoOffsets,
  stampedState,
  stampIn,
  type Offsets,
} from '../../bench/load/room-message.ts';

/** Reads a message that lies between other bytes, as in a received chunk. */
function read(message: string, offsets: Offsets): { seq: number; stamp: number } {
  const bytes = Buffer.from(`??${message}?`);
  return { seq: seqIn(bytes, 2, offsets), stamp: stampIn(bytes, bytes.length - 1, offsets) };
}

test('a watcher finds seq and stamp in a message of the service', () => {
  const message = roomMessage(roomDoc('BCDFG', 1234), JSON.stringify(stampedState(98_765.432)));
  expect(JSON.parse(message)).toMatchObject({ type: 'room', seq: 1234, room: { code: 'BCDFG', state: { at: '0000000098765432' } } });
  expect(read(message, plainOffsets)).toEqual({ seq: 1234, stamp: 98_765.432 });
});

test('a watcher finds seq and stamp in a message of Socket.IO', () => {
  const message = roomMessage(roomDoc('BCDFG', 7), JSON.stringify(stampedState(1)));
  expect(read(`42["room",${message}]`, socketIoOffsets)).toEqual({ seq: 7, stamp: 1 });
});

test('a watcher finds seq and stamp in a message of SocketCluster', () => {
  const message = roomMessage(roomDoc('BCDFG', 7), JSON.stringify(stampedState(1)));
  const packed = JSON.stringify({ event: '#publish', data: { channel: 'BCDFG', data: JSON.parse(message) } });
  expect(read(packed, socketClusterOffsets)).toEqual({ seq: 7, stamp: 1 });
});

test('a message of another channel has neither seq nor stamp', () => {
  expect(read('{"type":"pair","status":"claimed"}', plainOffsets)).toEqual({ seq: 0, stamp: Number.NaN });
});
