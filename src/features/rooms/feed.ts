import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { Feed, State } from '../../server/live/feed.ts';
import { roomKeys, roomText } from './model.ts';
import { readScript } from './read.ts';

/** The feed of rooms: `doc.lua` publishes every change as three lines, the head, the doc and the state. */
export function roomFeed(scripts: ScriptRunner, now: () => number): Feed {
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

/** @param head seq, phase and expiry in milliseconds since 1970 (`head.lua`) */
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
