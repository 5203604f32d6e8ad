import { coinop, type Client, type Options } from '/client.js';
import type { Wire } from './wire.ts';

/** What the playground keeps in the browser begins like this. */
const PREFIX = 'playground-';

/** Milliseconds until a press is answered. A coin operation goes on after them. */
const PATIENCE_MS = 6000;

/** A player of the playground, whom this browser keeps until a person starts over. */
export function player(name: string, wire: Wire, more: Partial<Options> = {}): Client {
  return coinop({
    url: location.origin,
    name: PREFIX + name,
    timeoutMs: PATIENCE_MS,
    // The types of the client's own fetch are looser than those of the browser.
    fetch: wire.fetch as unknown as NonNullable<Options['fetch']>,
    WebSocket: wire.socketOf(name[0]!.toUpperCase() + name.slice(1)),
    ...more,
  });
}

/** The name of the player of the steps about coins and access. The page of a pairing link offers this player too. */
export const MAIN_PLAYER = 'me';

/** Whether this browser keeps the player. To ask the client would make one. */
export function isKept(name: string): boolean {
  try {
    return localStorage.getItem(`${PREFIX}${name}:me`) !== null;
  } catch {
    return false;
  }
}

/** An id that this browser keeps for the player's device. */
export function deviceId(): string {
  const key = `${PREFIX}device`;
  try {
    const kept = localStorage.getItem(key) ?? `playground-${crypto.getRandomValues(new Uint32Array(3)).join('-')}`;
    localStorage.setItem(key, kept);
    return kept;
  } catch {
    return `playground-${crypto.getRandomValues(new Uint32Array(3)).join('-')}`;
  }
}

export function forgetPlayers(): void {
  try {
    for (const storage of [localStorage, sessionStorage])
      for (const key of Object.keys(storage)) if (key.startsWith(PREFIX)) storage.removeItem(key);
  } catch {
    // Nothing is kept then.
  }
}

/** Signs the player in, if it is not. */
export async function signedIn(client: Client): Promise<{ ok: true } | Awaited<ReturnType<Client['sessions']['login']>>> {
  const { sessionToken } = await client.who();
  return sessionToken === undefined ? client.sessions.login() : { ok: true };
}
