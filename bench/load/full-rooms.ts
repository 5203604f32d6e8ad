import type { Measured } from '../measure/measured.ts';
import { Api, inParallel } from './api.ts';

/** A room whose seats are all taken, the host's first, in a game that has started. */
export interface FullRoom {
  readonly code: string;
  readonly installIds: readonly string[];
}

export async function fullRooms({ url }: Pick<Measured, 'url'>, count: number, players: number): Promise<FullRoom[]> {
  const api = new Api(url);
  const run = crypto.randomUUID();
  try {
    return await inParallel(Array.from({ length: count }).keys().toArray(), async (room) => {
      const installIds = Array.from({ length: players }, (_, place) => `bench-${run}-${room}-${place}`);
      const [host] = installIds as [string];
      const { body } = await api.expectOk(api.post('/v1/rooms', { installId: host, maxPlayers: players }));
      const { code } = (body as { room: { code: string } }).room;
      for (const installId of installIds.slice(1)) await api.expectOk(api.post(`/v1/rooms/${code}/join`, { installId }));
      await api.expectOk(api.post(`/v1/rooms/${code}/start`, { installId: host }));
      return { code, installIds };
    });
  } finally {
    api.close();
  }
}
