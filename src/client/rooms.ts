import type { Act } from './act-queue.ts';
import type { Client } from './client.ts';
import { paceOfSeat } from './pace.ts';
import { playedRoom } from './played-room.ts';
import type { Game, PlayedRoom } from './room-types.ts';

export type * from './room-types.ts';

/**
 * Plays in a room that the client's player has joined. The page may be loaded again at any time: what it had not finished is finished by the
 * next one.
 */
export function playRoom<G extends Game = Game>(client: Client, code: string): PlayedRoom<G> {
  const { name, follow, to, credential } = client.parts;
  const storage = pageStorage();
  const ofSeat = `${name}:seat`;
  const ofActs = `${name}:acts:${code}`;
  const last = keptSeat(name);
  const { room, left } = playedRoom({
    code,
    to,
    credential,
    follow: (followed, onState) => follow(followed, onState, code),
    pace: paceOfSeat(),
    kept: actsIn(storage.get(ofActs)),
    seat: last?.code === code ? last.seat : undefined,
    onSeat: (seat) => storage.put(ofSeat, seat && JSON.stringify({ code, seat, playerId: seat.split(' ')[1] })),
  });
  storage.put(ofActs);
  const leave = (): void => {
    const acts = left();
    storage.put(ofActs, acts.length ? JSON.stringify(acts.map(({ done: _, ...act }) => act)) : undefined);
  };
  const platform = globalThis as unknown as EventTarget & { document?: unknown };
  if (platform.document) {
    platform.addEventListener('pagehide', leave);
    void room.ended.then(({ code: why }) => why === 'finished' || platform.removeEventListener('pagehide', leave));
  }
  return room as unknown as PlayedRoom<G>;
}

/** The seat that this tab of the browser had before its page was loaded again. It may be lost by now. */
export function lastSeat(client: Client): { code: string; playerId: string } | undefined {
  return keptSeat(client.parts.name);
}

function keptSeat(name: string): { code: string; playerId: string; seat: string } | undefined {
  try {
    return JSON.parse(pageStorage().get(`${name}:seat`) ?? '') as ReturnType<typeof keptSeat>;
  } catch {
    return undefined;
  }
}

function actsIn(text: string | null): Act[] {
  try {
    const acts = JSON.parse(text!) as Omit<Act, 'done'>[];
    return acts.filter(({ action, fields, tab, order }) => action && fields && tab && order > 0).map((act) => ({ ...act, done: [] }));
  } catch {
    return [];
  }
}

/** The page's sessionStorage: it belongs to one tab, and outlives its pages. A browser may forbid it, and be out of space. */
function pageStorage() {
  const safely = <T>(work: (storage: Storage) => T): T | null => {
    try {
      return work((globalThis as unknown as { sessionStorage: Storage }).sessionStorage);
    } catch {
      return null;
    }
  };
  return {
    get: (key: string): string | null => safely((storage) => storage.getItem(key)),
    put: (key: string, value?: string): void =>
      void safely((storage) => (value === undefined ? storage.removeItem(key) : storage.setItem(key, value))),
  };
}

interface Storage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}
