import { useMemo, useSyncExternalStore } from 'react';
import type { Client, CoinopError, WatchedAccount, WatchedPairing, WatchState } from './client.ts';
import {
  playRoom,
  watchBoard,
  watchLobby,
  type Game,
  type GameRoom,
  type ListedRoom,
  type LobbyFilter,
  type OwnPlayer,
  type PlayedRoom,
  type ScoreEntry,
  type Season,
} from './rooms.ts';
import type { LoadResult, Saves, SaveName, SaveResult } from './saves.ts';

/** Something that a component watches: the fields that are known so far, and the state of the connection. */
export type Watched<Known> = Partial<Known> & { connection: WatchState };

/** Starts a watch. @param show adds fields to what the component sees @returns the function that ends the watch */
type Start<Known> = (show: (fields: Partial<Watched<Known>>) => void) => () => void;

/** What a component sees on a server, and before its first news. */
const NOTHING = { connection: { status: 'connecting' } } as const;

/**
 * Watches while a component is mounted. The watch begins a turn after the component was mounted, so that React's strict mode, which mounts
 * twice, starts it once.
 * @param keys the watch begins anew, and forgets what it knew, when one of them changes
 */
function useWatch<Known>(start: Start<Known> | undefined, keys: readonly unknown[]): Watched<Known> {
  const store = useMemo(() => {
    let seen: Watched<Known> = NOTHING as Watched<Known>;
    const listeners = new Set<() => void>();
    let run = 0;
    let end: (() => void) | undefined;
    const begin = (): void => {
      const own = ++run;
      queueMicrotask(() => {
        if (own !== run) return;
        end = start?.((fields) => {
          // A watch that was ended says so once more, after another one has begun.
          if (own !== run) return;
          seen = { ...seen, ...fields };
          for (const listener of listeners) listener();
        });
      });
    };
    return {
      subscribe(listener: () => void) {
        if (listeners.size === 0) begin();
        listeners.add(listener);
        return () => {
          listeners.delete(listener);
          if (listeners.size > 0) return;
          run++;
          end?.();
          end = undefined;
        };
      },
      seen: () => seen,
    };
    // The keys stand for `start`, which is another function at each rendering.
  }, keys);
  return useSyncExternalStore(store.subscribe, store.seen, () => NOTHING as Watched<Known>);
}

/** Shows the player's balance and entitlement, and every change of them, whoever made it. */
export function useAccount(client: Client): Watched<{ account: WatchedAccount }> {
  return useWatch(
    (show) => {
      const watch = client.watchAccount((account) => show({ account }), { onState: (connection) => show({ connection }) });
      return () => watch.close();
    },
    [client],
  );
}

/** A room that a component plays in. */
export interface UsedRoom<G extends Game> {
  /** Acts in the room: `played.merge(…)`, `played.send(…)`. It is another object after each mount. */
  played: PlayedRoom<G>;
  room: GameRoom<G>;
  /** The player of this page. Undefined without a seat. */
  me: OwnPlayer<G> | undefined;
  /** Why the caller has no seat any more. */
  error: CoinopError;
}

/**
 * Plays in a room that the player has joined, and shows it after every change. Unmounting keeps the seat.
 * @param code undefined: no room yet
 */
export function useRoom<G extends Game = Game>(client: Client, code: string | undefined): Watched<UsedRoom<G>> {
  return useWatch<UsedRoom<G>>(
    code === undefined
      ? undefined
      : (show) => {
          const played = playRoom<G>(client, code);
          const shown = () => ({ played, room: played.room, me: played.me }) as Partial<Watched<UsedRoom<G>>>;
          played.on('change', () => show(shown()));
          played.on('connection', (connection) => show({ played, connection } as Partial<Watched<UsedRoom<G>>>));
          played.on('error', (error) => show({ ...shown(), error } as Partial<Watched<UsedRoom<G>>>));
          return () => played.close();
        },
    [client, code],
  );
}

/** Shows the ten best scores of a game, and its season. */
export function useBoard(client: Client, game: string): Watched<{ top: ScoreEntry[]; season: Season }> {
  return useWatch(
    (show) => {
      const watch = watchBoard(client, game, (top, season) => show({ top, season }), { onState: (connection) => show({ connection }) });
      return () => watch.close();
    },
    [client, game],
  );
}

/** Shows the newest 50 open rooms. */
export function useLobby(client: Client, filter: LobbyFilter = {}): Watched<{ rooms: ListedRoom[] }> {
  return useWatch(
    (show) => {
      const watch = watchLobby(client, filter, (rooms) => show({ rooms }), { onState: (connection) => show({ connection }) });
      return () => watch.close();
    },
    // Most components write the filter out, so it is another object at each rendering.
    [client, JSON.stringify(filter)],
  );
}

/** A save of the player. */
export interface UsedSave<Data> {
  /** As this device has it: after `save` at once, also while the service does not answer. Undefined: not loaded yet, or nothing was saved. */
  data: Data;
  /** The version that stands. */
  version: number;
  /** Keeps data as the newest save. It is there as soon as the component is mounted. */
  save: (data: Data) => Promise<SaveResult<Data>>;
  /** Why it was not loaded or saved: `save_not_found` until something was saved. */
  error: CoinopError | undefined;
}

/** Loads a save and keeps it. @param saves made once, outside of components: `savesOf(client)` */
export function useSave<Data>(saves: Saves<Data>, { game, name }: SaveName): Partial<UsedSave<Data>> {
  const { connection: _, ...used } = useWatch<UsedSave<Data>>(
    (show) => {
      const shown = <Reply extends LoadResult<Data> | SaveResult<Data>>(reply: Reply): Reply => {
        const { data, version } = reply as { data?: Data; version?: number };
        const news = reply.ok ? { data, version, error: undefined } : { error: reply.error, ...(data !== undefined && { data }) };
        show(news as Partial<Watched<UsedSave<Data>>>);
        return reply;
      };
      show({
        async save(data) {
          show({ data } as Partial<Watched<UsedSave<Data>>>);
          return shown(await saves.save({ game, name, data }));
        },
      } as Partial<Watched<UsedSave<Data>>>);
      void saves.load({ game, name }).then(shown);
      return () => {};
    },
    [saves, game, name],
  );
  return used as Partial<UsedSave<Data>>;
}

/** A pairing that signs this screen in. */
export interface UsedPairing extends WatchedPairing {
  /** The code to show: `/v1/pair/qr.svg?token=…` draws it, and `url` is its link. */
  token: string;
  url: string;
  /** Why there is no pairing, or why its watch has ended. */
  error: CoinopError;
}

/** Opens a pairing and shows its status. @param again another value opens another pairing, after one that was denied or has expired */
export function usePairing(client: Client, again?: unknown): Watched<UsedPairing> {
  return useWatch<UsedPairing>(
    (show) => {
      const stopping = new AbortController();
      let close = (): void => stopping.abort();
      void (async () => {
        const opened = await client.pairing.open({}, { signal: stopping.signal });
        if (stopping.signal.aborted) return;
        if (!opened.ok) return show({ error: opened.error, connection: { status: 'ended', code: opened.error.code } });
        const { token, url } = opened;
        show({ token, url });
        const watch = client.watchPairing(opened, show, { onState: (connection) => show({ connection }) });
        close = () => watch.close();
      })();
      return () => close();
    },
    [client, again],
  );
}
