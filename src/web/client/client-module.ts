import { readFileSync } from 'node:fs';

/**
 * The client library as one JavaScript module, as `/client.js` serves it and the package carries it. One file, because pages
 * must not mix files of two versions during an update. `npm run build:client` makes it of src/client, and a test compares.
 */
export function clientModule(): string {
  return bundle('client');
}

/** The part of the library that plays in rooms. It is a separate module, `/rooms.js`, because most pages need no rooms. */
export function roomsModule(): string {
  return bundle('rooms');
}

/** The half of the library for game servers, for the package. */
export function serverModule(): string {
  return bundle('server');
}

function bundle(name: string): string {
  return readFileSync(new URL(`bundle/${name}.js`, import.meta.url), 'utf8');
}
