import { coinop, type Client, type Options } from '/client.js';
import { PREFIX } from '../../../web/browser/kept-players.ts';
import type { Wire } from './wire.ts';

/** How long a press waits for its answer. A coin operation goes on in the background after that. */
const PATIENCE_MS = 6000;

/** A player of the playground. This browser keeps the player until a person starts over. */
export function player(name: string, wire: Wire, more: Partial<Options> = {}): Client {
  return coinop({
    url: location.origin,
    name: PREFIX + name,
    timeoutMs: PATIENCE_MS,
    // The client's types of fetch are looser than the browser's types.
    fetch: wire.fetch as unknown as NonNullable<Options['fetch']>,
    WebSocket: wire.socketOf(name[0]!.toUpperCase() + name.slice(1)),
    ...more,
  });
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

/** Signs the player in, if it is not. */
export async function signedIn(client: Client): Promise<{ ok: true } | Awaited<ReturnType<Client['sessions']['login']>>> {
  const { sessionToken } = await client.who();
  return sessionToken === undefined ? client.sessions.login() : { ok: true };
}
