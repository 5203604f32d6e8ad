import type { Scripts } from '../../redis/script-runner.ts';
import type { Feed, State } from '../../server/live/feed.ts';
import { roomKeys, roomText } from './model.ts';
import { readScript } from './read.ts';

/** Rooms as they are watched: `doc.lua` publishes every change as head, doc and state, a line each. */
export function roomFeed(scripts: Scripts, now: () => number): Feed {
  return {
    channel: roomKeys.room,
    parse(message) {
      const docAt = message.indexOf('\n') + 1;
      const stateAt = message.indexOf('\n', docAt) + 1;
      return stateOf(message.slice(0, docAt - 1), message.slice(docAt, stateAt - 1), message.slice(stateAt));
    },
    fetch: (known) =>
      Promise.all(
        known.map(async ({ id, position }) => {
          const [word, ...kept] = await scripts.run(readScript, { room: roomKeys.room(id) }, { knownSeq: position, now: now() });
          if (word === 'found') return stateOf(...(kept as [string, string, string]));
          return word === 'same' ? word : undefined;
        }),
      ),
  };
}

/** @param head seq, phase, and until when the room lives unless it changes */
function stateOf(head: string, docText: string, stateText: string): State {
  const [seq, phase, expiresAt] = head.split(' ');
  return {
    position: Number(seq),
    encode: () => ({
      message: `{"type":"room","seq":${seq},"room":${roomText(docText, stateText)}}`,
      isFinal: phase === 'ended',
      changesAt: Number(expiresAt),
    }),
  };
}
