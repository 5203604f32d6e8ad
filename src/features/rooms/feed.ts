import type { Redis } from 'ioredis';
import type { Feed, State } from '../../server/feed.ts';
import { roomKeys, roomText, type RoomDoc } from './model.ts';

/** Rooms as they are watched: `doc.lua` publishes every change as seq, doc and state, a line each. */
export function roomFeed(redis: Redis, now: () => number): Feed {
  return {
    channel: roomKeys.room,
    parse(message) {
      const docAt = message.indexOf('\n') + 1;
      const stateAt = message.indexOf('\n', docAt) + 1;
      return stateOf(Number(message.slice(0, docAt - 1)), message.slice(docAt, stateAt - 1), message.slice(stateAt));
    },
    async fetch(known) {
      const pipeline = redis.pipeline();
      for (const { id } of known) pipeline.hmget(roomKeys.room(id), 'seq', 'doc', 'state');
      const replies = (await pipeline.exec()) ?? [];
      return known.map(({ position }, index) => {
        const [error, kept] = replies[index] as [Error | null, [string | null, string | null, string | null]];
        if (error !== null) throw error;
        const [seq, docText, stateText] = kept;
        if (seq === null || docText === null || stateText === null) return undefined;
        const doc = JSON.parse(docText) as RoomDoc;
        if (doc.expiresAt <= now()) return undefined;
        return Number(seq) === position ? 'same' : stateOf(Number(seq), docText, stateText);
      });
    },
  };
}

/** The text is taken apart only if it is sent: under a burst most states are skipped. */
function stateOf(seq: number, docText: string, stateText: string): State {
  return {
    position: seq,
    encode() {
      const doc = JSON.parse(docText) as RoomDoc;
      return {
        message: `{"type":"room","seq":${seq},"room":${roomText(doc, stateText)}}`,
        isFinal: doc.phase === 'ended',
        changesAt: doc.expiresAt,
      };
    },
  };
}
