import { readFileSync } from 'node:fs';

/**
 * The client library as one JavaScript module, which `/client.js` and the npm package have, without the parts that few pages need.
 * `npm run build:client` makes the file from src/client, and a test checks that it is current.
 */
export function clientModule(): string {
  return bundle('client');
}

/**
 * The modules that the client library imports when a page first needs them, by their names below `/client/`. A page that was loaded before
 * an update may get a module of the next version, so the few functions that they share keep their parameters.
 */
export const clientParts: Readonly<Record<string, () => string>> = Object.fromEntries(
  ['account', 'pairing', 'patch', 'sign-ins', 'unreachable', 'watched-room'].map((name) => [`${name}.js`, () => bundle(`client/${name}`)]),
);

/** The part of the library that plays in rooms. It is a separate module, `/rooms.js`, because most pages need no rooms. */
export function roomsModule(): string {
  return bundle('rooms');
}

/** The hooks of React, which only the npm package has. */
export function reactModule(): string {
  return bundle('react');
}

/** The part of the library that keeps saves. It is a separate module, `/saves.js`, for the same reason. */
export function savesModule(): string {
  return bundle('saves');
}

/** The client library for game servers, which only the npm package has. */
export function serverModule(): string {
  return bundle('server');
}

function bundle(name: string): string {
  return readFileSync(new URL(`bundle/${name}.js`, import.meta.url), 'utf8');
}
