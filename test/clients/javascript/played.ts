import type { Client } from '../../../src/clients/javascript/client.ts';
import { playRoom } from '../../../src/clients/javascript/rooms.ts';
import type { TestService } from '../../harness.ts';
import { done, player } from './player.ts';

/** The code of a room that the client opens. */
export async function openRoom(client: Client, settings: object = {}): Promise<string> {
  return (await done(client.rooms.create({ name: 'Ada', ...settings }))).room.code;
}

export async function seat(client: Client, code: string, name = 'Bob'): Promise<void> {
  await done(client.rooms.join({ code, name }));
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
