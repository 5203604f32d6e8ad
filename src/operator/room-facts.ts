import type { z } from 'zod';
import { roomKeys, type Room } from '../features/rooms/model.ts';
import { defineScript } from '../redis/script.ts';
import type { OperatorParts } from './operation.ts';

const readRoomScript = defineScript({
  file: new URL('read-room-keys.lua', import.meta.url),
  keys: ['room', 'leases'],
  args: [],
  answers: ['room'],
  readOnly: true,
});

/** A room with the accounts in its seats. Undefined if there is none. */
export async function readRoom(code: string, { scripts, now }: Pick<OperatorParts, 'scripts' | 'now'>) {
  const keys = { room: roomKeys.room(code), leases: roomKeys.leases(code) };
  const [, connections, ...words] = await scripts.run(readRoomScript, keys, {});
  const fields = new Map(Array.from({ length: words.length / 2 }, (_, index) => [words[2 * index]!, words[2 * index + 1]!]));
  const [, , expiresAt = 0] = (fields.get('head') ?? '').split(' ');
  if (Number(expiresAt) <= now()) return undefined;
  const doc = JSON.parse(fields.get('doc')!) as Omit<z.output<typeof Room>, 'state'>;
  const seats = doc.players.map(({ id }) => {
    const away = fields.get(`${id}:away`);
    return {
      playerId: id,
      accountId: fields.get(id) ?? '',
      awaySince: away === undefined ? undefined : new Date(Number(away)).toISOString(),
    };
  });
  return { room: { ...doc, state: JSON.parse(fields.get('state') ?? '{}') as unknown }, seats, connections: Number(connections) };
}
