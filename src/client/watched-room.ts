import { guarded } from './guarded.ts';
import type { Credential } from './identity.ts';
import { TRY_MS, type SendOnce } from './request.ts';
import { routes, type CoinopError, type Room } from './routes.ts';
import type { Followed, WatchState } from './watched.ts';

export interface RoomWatchOptions {
  onState?: (state: WatchState) => void;
  /** Gets the caller's seat once the service shows the player as connected. */
  onYou?: (you: { playerId: string; host: boolean }) => void;
  /** Gets errors of the channel, such as `not_in_room` if the caller has no seat and only watches. */
  onError?: (error: CoinopError) => void;
  /** `false`: the caller only watches, even with a seat. */
  hello?: false;
}

export const watchedRoom = (
  code: string,
  onRoom: (room: never) => void,
  { onYou, onError, hello }: RoomWatchOptions,
  to: SendOnce,
  credential: () => Promise<Credential>,
): Followed => ({
  path: `/v1/rooms/${encodeURIComponent(code)}/live`,
  patches: true,
  poll: (wait, since, signal) => to(routes.rooms.read, wait ? { code, since, wait } : { code }, {}, signal, wait * 1000 + TRY_MS),
  positionOf: ({ room }) => (room as Room | undefined)?.seq,
  deliver({ room }) {
    guarded(onRoom)(room as never);
    return (room as Room).phase === 'ended';
  },
  other({ error, you }) {
    guarded<[never]>(error ? onError : onYou)((error ?? you) as never);
  },
  async hello() {
    const by = await credential();
    return hello === false
      ? ''
      : JSON.stringify({ type: 'hello', installId: by['x-install-id'], sessionToken: by['authorization']?.slice(7) });
  },
});
