import { readFileSync } from 'node:fs';

/**
 * A module of the client library. `/rooms.js` and `/saves.js` are apart from `/client.js`, because most pages need neither. Only the npm
 * package has the modules `react` and `server`. `npm run build:client` makes the files from src/client, and a test checks that they are
 * current.
 */
export function libraryModule(name: 'client' | 'rooms' | 'saves' | 'react' | 'server'): string {
  return bundle(name);
}

/**
 * The modules that the client library loads when a page first needs them, by their names below `/client/`. A page that was loaded before an
 * update may get a module of the next version, so the few functions that they share keep their parameters.
 */
export const clientParts: Readonly<Record<string, () => string>> = Object.fromEntries(
  ['account', 'pairing', 'patch', 'sign-ins', 'unreachable', 'watched-room'].map((name) => [`${name}.js`, () => bundle(`client/${name}`)]),
);

function bundle(name: string): string {
  return readFileSync(new URL(`bundle/${name}.js`, import.meta.url), 'utf8');
}
