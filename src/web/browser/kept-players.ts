/** The prefix of every key under which the playground stores something in the browser. */
export const PREFIX = 'playground-';

/** The name of the player in the playground's steps about coins and access. The page of a pairing link offers this player too. */
export const MAIN_PLAYER = 'me';

/** Whether the player is stored in this browser. The storage is read directly, because the client library would make a new player. */
export function isKept(name: string): boolean {
  try {
    return localStorage.getItem(`${PREFIX}${name}:me`) !== null;
  } catch {
    return false;
  }
}

export function forgetPlayers(): void {
  try {
    for (const storage of [localStorage, sessionStorage])
      for (const key of Object.keys(storage)) if (key.startsWith(PREFIX)) storage.removeItem(key);
  } catch {
    // Without storage there is nothing to delete.
  }
}
