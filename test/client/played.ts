import type { Client } from '../../src/client/client.ts';
import { playRoom, type Game, type PlayedRoom } from '../../src/client/rooms.ts';
import type { TestService } from '../harness.ts';
import { player, type Player } from './player.ts';

export type Table<G extends Game = Game> = PlayedRoom<G> & { readonly client: Player };

/** The code of a room that the client opens. */
export async function openRoom(client: Client, settings: object = {}): Promise<string> {
  const reply = await client.rooms.create({ name: 'Ada', ...settings });
  if (!reply.ok) throw new Error(reply.error.code);
  return reply.room.code;
}

export async function seat(client: Client, code: string, name = 'Bob'): Promise<void> {
  const reply = await client.rooms.join({ code, name });
  if (!reply.ok) throw new Error(reply.error.code);
}

/** Two players in one room, each with a separate client. */
export async function twoPlayers(service: TestService | { url: string }, settings: object = {}, options: object = {}) {
  const [ada, bob] = [player(service.url, options), player(service.url, options)];
  const code = await openRoom(ada, settings);
  await seat(bob, code);
  const rooms = [playRoom(ada, code), playRoom(bob, code)] as const;
  return {
    code,
    ada: rooms[0],
    bob: rooms[1],
    clients: [ada, bob] as const,
    [Symbol.dispose](): void {
      ada.close();
      bob.close();
    },
  };
}
