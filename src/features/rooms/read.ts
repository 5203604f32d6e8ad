import { z } from 'zod';
import { refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { endpoint } from '../../services.ts';
import { isRoomCode, RoomCode, roomKeys, roomReply, RoomReply, type RoomDoc } from './model.ts';

const readScript = defineScript({
  file: new URL('read.lua', import.meta.url),
  keys: ['room'],
  args: [],
  answers: ['found', 'room_not_found'],
  readOnly: true,
});

export const readRoom = endpoint({
  method: 'GET',
  path: '/v1/rooms/{code}',
  caller: 'none',
  summary: "A room's public state.",
  params: z.object({ code: RoomCode }),
  reply: RoomReply,
  errors: ['room_not_found'],
  misses: ['room_not_found'],
  example:
    `code=$(curl -s $base/v1/rooms -H 'content-type: application/json' -d '{"installId":"install-0001"}' | ` +
    `sed 's/.*"code":"\\([A-Z]*\\)".*/\\1/'); curl -s $base/v1/rooms/$code`,
  async handle({ params: { code } }, { scripts, now }) {
    if (!isRoomCode(code)) return refuse('room_not_found');
    const [word, docText = '', stateText = ''] = await scripts.run(readScript, { room: roomKeys.room(code) }, {});
    if (word === 'room_not_found') return refuse(word);
    const doc = JSON.parse(docText) as RoomDoc;
    return doc.expiresAt > now() ? roomReply(doc, stateText) : refuse('room_not_found');
  },
});
