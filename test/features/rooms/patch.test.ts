import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { leastLengthOf } from '../../../src/features/rooms/record.ts';
import { forFile, start } from '../../harness.ts';
import { type Message } from '../../realtime/watcher.ts';
import { applyPatch } from './apply-patch.ts';
import { randomPatches } from './random-patches.ts';
import { open, watched } from './room.ts';

const service = await forFile(start());

test('patches of random changes, one or several at a time, give the whole room exactly', () => {
  let copy: unknown;
  for (const { ops, room, text, fields } of randomPatches(7)) {
    copy = ops === undefined ? structuredClone(room) : applyPatch(copy, ops);
    // `expect` takes thirty times as long, which matters for a million changes.
    if (!isDeepStrictEqual(copy, room)) expect(copy).toEqual(room);
    if (leastLengthOf(fields) > text.length) expect(leastLengthOf(fields)).toBeLessThanOrEqual(text.length);
  }
});

describe('a channel with patch=1', () => {
  /** The consecutive rooms of a watcher. */
  function roomsOf(messages: readonly Message[]): unknown[] {
    const rooms: unknown[] = [];
    for (const message of messages) {
      if (message.type === 'room') rooms.push(message.room);
      if (message.type !== 'patch') continue;
      const last = rooms.at(-1) as { seq: number };
      expect(message.from).toBe(last.seq);
      rooms.push(applyPatch(structuredClone(last), message.ops));
    }
    return rooms;
  }

  test('sends the whole room at first, and then what changed', async () => {
    const room = await open(service, { state: { board: 'x'.repeat(4000), n: 0 } });
    const patched = await watched(service, room.code, '?patch=1');
    const whole = await watched(service, room.code);
    await patched.until(({ type }) => type === 'room');
    for (let n = 1; n <= 5; n++) {
      const { seq } = (await room.act('state', room.host, { merge: { n } })).body.room;
      await patched.until((message) => message.seq >= seq);
      await whole.reaches(seq);
    }
    expect(patched.messages.map(({ type }) => type)).toEqual(['room', 'patch', 'patch', 'patch', 'patch', 'patch']);
    expect(patched.messages[1].ops).toContainEqual({ op: 'replace', path: '/state/n', value: 1 });
    expect(roomsOf(patched.messages).at(-1)).toEqual(whole.last.room);
    expect(Math.max(...patched.messages.slice(1).map((message) => JSON.stringify(message).length))).toBeLessThan(450);
    const joined = await watched(service, room.code, '?patch=1');
    expect((await joined.until(({ type }) => type === 'room')).room).toEqual(whole.last.room);
    await room.join();
    await joined.until(({ type }) => type === 'patch');
    expect(roomsOf(joined.messages).at(-1)).toEqual(await room.read());
    // A change that is more than half of the room.
    const { seq } = (await room.act('state', room.host, { state: 'y'.repeat(8000) })).body.room;
    expect((await joined.until((message) => message.seq === seq)).type).toBe('room');
  });
});
