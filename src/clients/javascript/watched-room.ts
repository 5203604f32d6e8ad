import type { guarded } from './guarded.ts';
import type { Credential } from './identity.ts';
import type { SendOnce } from './request.ts';
import type { CoinopError, Room } from './routes.ts';
import type { Watched, WatchState } from './watched.ts';

export interface RoomWatchOptions {
  onState?: (state: WatchState) => void;
  /** Gets the caller's seat once the service shows the player as connected. */
  onYou?: (you: { playerId: string; host: boolean }) => void;
  /** Gets errors of the channel, such as `not_in_room` if the caller has no seat and only watches. */
  onError?: (error: CoinopError) => void;
  /** `false`: the caller only watches, even with a seat. */
  hello?: false;
}

/** What watches a room. It imports no value of the client: a shared module would be one more for every page to load. */
export const watchedRoom = (
  code: string,
  guard: typeof guarded,
  onRoom: (room: never) => void,
  { onYou, onError, hello }: RoomWatchOptions,
  to: SendOnce,
  credential: () => Promise<Credential>,
  tryMs: number,
): Partial<Watched> => ({
  patches: true,
  poll: (wait, since, signal) => to('GET /v1/rooms/{code}', wait ? { code, since, wait } : { code }, {}, signal, wait * 1000 + tryMs),
  positionOf: ({ room }) => (room as Room | undefined)?.seq,
  deliver({ room }) {
    guard(onRoom)(room as never);
    return (room as Room).phase === 'ended';
  },
  other({ error, you }) {
    if (error ?? you) guard<[never]>(error ? onError : onYou)((error ?? you) as never);
  },
  async hello() {
    const by = await credential();
    return hello === false
      ? ''
      : JSON.stringify({ type: 'hello', installId: by['x-install-id'], sessionToken: by['authorization']?.slice(7) });
  },
});
