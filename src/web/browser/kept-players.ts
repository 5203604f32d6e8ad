/** Prefix of all that the playground stores in the browser. */
export const PREFIX = 'playground-';

/** The name of the player of the playground's steps about coins and access. The page of a pairing link offers this player too. */
export const MAIN_PLAYER = 'me';

/** Whether this browser keeps the player. Asks the storage, because asking the client would make a player. */
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
    // Without storage nothing is kept.
  }
}
