import { readFileSync } from 'node:fs';

/**
 * The client library as one JavaScript module, which `/client.js` and the npm package have. It is one file, because pages must not mix
 * files of two versions during an update. `npm run build:client` makes the file from src/client, and a test checks that it is current.
 */
export function clientModule(): string {
  return bundle('client');
}

/** The part of the library that plays in rooms. It is a separate module, `/rooms.js`, because most pages need no rooms. */
export function roomsModule(): string {
  return bundle('rooms');
}

/** The client library for game servers, which only the npm package has. */
export function serverModule(): string {
  return bundle('server');
}

function bundle(name: string): string {
  return readFileSync(new URL(`bundle/${name}.js`, import.meta.url), 'utf8');
}
