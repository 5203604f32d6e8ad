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
} from '../../bench/load/room-message.ts';

const message = roomMessage(roomDoc('BCDFG', 1234), JSON.stringify(stampedState(98_765.432)));
const packed = JSON.stringify({ event: '#publish', data: { channel: 'BCDFG', data: JSON.parse(message) } });

test.each([
  ['of the service', message, plainOffsets, { seq: 1234, stamp: 98_765.432 }],
  ['of Socket.IO', `42["room",${message}]`, socketIoOffsets, { seq: 1234, stamp: 98_765.432 }],
  ['of SocketCluster', packed, socketClusterOffsets, { seq: 1234, stamp: 98_765.432 }],
  ['of another channel, which has neither', '{"type":"pair","status":"claimed"}', plainOffsets, { seq: 0, stamp: Number.NaN }],
])('a watcher finds seq and stamp in a message %s', (_, text, offsets, found) => {
  // The message lies between other bytes, as in a received chunk.
  const bytes = Buffer.from(`??${text}?`);
  expect({ seq: seqIn(bytes, 2, offsets), stamp: stampIn(bytes, bytes.length - 1, offsets) }).toEqual(found);
});
