import { expect, test } from 'vitest';
import {
  plainMarks,
  roomDoc,
  roomMessage,
  seqIn,
  socketClusterMarks,
  socketIoMarks,
  stampedState,
  stampIn,
  type Marks,
} from '../../bench/load/room-message.ts';

/** A frame's payload in the middle of what was read. */
function read(message: string, marks: Marks): { seq: number; stamp: number } {
  const bytes = Buffer.from(`??${message}?`);
  return { seq: seqIn(bytes, 2, marks), stamp: stampIn(bytes, bytes.length - 1, marks) };
}

test('a watcher finds seq and time of change in a message as the service sends it', () => {
  const message = roomMessage(roomDoc('BCDFG', 1234), JSON.stringify(stampedState(98_765.432)));
  expect(JSON.parse(message)).toMatchObject({ type: 'room', seq: 1234, room: { code: 'BCDFG', state: { at: '0000000098765432' } } });
  expect(read(message, plainMarks)).toEqual({ seq: 1234, stamp: 98_765.432 });
});

test('and as Socket.IO packs it', () => {
  const message = roomMessage(roomDoc('BCDFG', 7), JSON.stringify(stampedState(1)));
  expect(read(`42["room",${message}]`, socketIoMarks)).toEqual({ seq: 7, stamp: 1 });
});

test('and as SocketCluster packs it', () => {
  const message = roomMessage(roomDoc('BCDFG', 7), JSON.stringify(stampedState(1)));
  const packed = JSON.stringify({ event: '#publish', data: { channel: 'BCDFG', data: JSON.parse(message) } });
  expect(read(packed, socketClusterMarks)).toEqual({ seq: 7, stamp: 1 });
});

test('a message of another channel has neither', () => {
  expect(read('{"type":"pair","status":"claimed"}', plainMarks)).toEqual({ seq: 0, stamp: Number.NaN });
});
