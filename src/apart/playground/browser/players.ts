import { coinop, type Client, type Options } from '/client.js';
import { PREFIX } from '../../../web/browser/kept-players.ts';
import type { Wire } from './wire.ts';

/** Milliseconds that a press waits for its answer. After that a coin operation goes on in the background. */
const PATIENCE_MS = 6000;

type OnOperation = NonNullable<Options['onOperation']>;

const listeners = new Map<string, OnOperation>();

/** Calls back with the result of each operation of a player. Any step's client may finish an operation that an earlier page has left. */
export function onOperations(name: string, listener: OnOperation): void {
  listeners.set(name, listener);
}

/** A player of the playground. The browser stores the player until the person at the browser starts over. */
export function player(name: string, wire: Wire, more: Partial<Options> = {}): Client {
  return coinop({
    url: location.origin,
    name: PREFIX + name,
    timeoutMs: PATIENCE_MS,
    onOperation: (operation, result) => listeners.get(name)?.(operation, result),
    // A cast, because the client library's type of fetch is looser than the browser's.
    fetch: wire.fetch as unknown as NonNullable<Options['fetch']>,
    WebSocket: wire.socketOf(name[0]!.toUpperCase() + name.slice(1)),
    ...more,
  });
}

/** A random id that this browser keeps, for the player's device or for the person at the browser. */
export function madeId(of: 'device' | 'person'): string {
  const key = PREFIX + of;
  const made = `playground-${crypto.getRandomValues(new Uint32Array(3)).join('-')}`;
  try {
    const kept = localStorage.getItem(key) ?? made;
    localStorage.setItem(key, kept);
    return kept;
  } catch {
    return made;
  }
}

/** Signs the player in, unless the player already has a session. */
export async function signedIn(client: Client): Promise<{ ok: true } | Awaited<ReturnType<Client['sessions']['login']>>> {
  const { sessionToken } = await client.who();
  return sessionToken === undefined ? client.sessions.login() : { ok: true };
}
