import { z } from 'zod';
import { refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { WaitSeconds } from '../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../declare.ts';
import { isRoomCode, RoomCode, roomKeys, roomLibrary, roomReply, RoomReply } from './model.ts';
import { fieldsOf } from './record.ts';

export const readScript = defineScript({
  file: new URL('read.lua', import.meta.url),
  keys: ['room'],
  args: ['known'],
  answers: ['found', 'same', 'room_not_found'],
  library: roomLibrary,
  readOnly: true,
});

export const readRoom = endpoint({
  method: 'GET',
  path: '/v1/rooms/{code}',
  operationId: 'getRoom',
  caller: 'none',
  summary: "A room's public state.",
  description:
    'With `since` and `wait` it is a long-poll, for networks without WebSocket: it answers as soon as `seq` is past `since`, or after ' +
    '`wait` seconds with the current state.',
  params: z.object({ code: RoomCode }),
  query: z.object({
    since: z
      .string()
      .regex(/^\d{1,15}$/, 'Must be the seq of a state seen before')
      .optional()
      .meta({ type: 'integer', minimum: 0, maximum: 999_999_999_999_999, description: 'For `wait`: the `seq` of a state seen before.' }),
    wait: WaitSeconds,
  }),
  waitSeconds: ({ since, wait }: { since?: string; wait?: string }) => (since === undefined ? 0 : Number(wait ?? 0)),
  reply: RoomReply,
  errors: ['room_not_found'],
  misses: ['room_not_found'],
  example:
    `code=$(curl -s $base/v1/rooms -H 'content-type: application/json' -d '{"installId":"install-0001"}' | ` +
    `sed 's/.*"code":"\\([A-Z]*\\)".*/\\1/'); curl -s $base/v1/rooms/$code`,
  async handle({ params: { code }, query: { since, wait }, meta }, { scripts, topics, feeds, arrivals }: ReadServices) {
    if (!isRoomCode(code)) return refuse('room_not_found');
    const refusal = arrivals.refusalOf(meta.address, roomKeys.room(code));
    if (refusal !== undefined) throw refusal;
    if (since !== undefined && wait !== undefined) {
      const found = await topics.wait(feeds.room, code, {
        since: Number(since),
        waitMs: Number(wait) * 1000,
        onFound: () => meta.found(),
        onGone: (callback) => meta.onGone(callback),
      });
      if (!found) return refuse('room_not_found');
    }
    const [word, , ...words] = await scripts.run(readScript, { room: roomKeys.room(code) }, { known: '' });
    return word === 'found' ? roomReply(fieldsOf(words)) : refuse('room_not_found');
  },
});

type ReadServices = Pick<Services, 'scripts' | 'topics' | 'feeds' | 'arrivals'>;
