import { CACHED } from '../documents/served-documents.ts';
import { editionOf, madeOnce } from '../encoded-text.ts';
import { textEndpoint } from '../text-endpoint.ts';
import { libraryModule } from './client-module.ts';

interface Library<Name> {
  readonly name: Name;
  readonly operationId: string;
  readonly summary: string;
  /** What a page imports from it. */
  readonly gives: string;
  readonly more?: string;
}

/** Serves a module of the client library. */
function library<const Name extends Parameters<typeof libraryModule>[0]>({ name, operationId, summary, gives, more = '' }: Library<Name>) {
  return textEndpoint(
    {
      path: `/${name}.js`,
      operationId,
      summary,
      description:
        `A page of any origin may import it: \`import { ${gives} } from "…/${name}.js"\`.${more} A request with the \`ETag\` of an earlier ` +
        'reply in `If-None-Match` gets 304 while the module is unchanged.',
      mediaType: 'text/javascript; charset=utf-8',
      anyOrigin: true,
    },
    [CACHED],
    madeOnce(() => editionOf(libraryModule(name))),
  );
}

export const clientLibrary = library({
  name: 'client',
  operationId: 'getClientLibrary',
  summary: 'The client library, a JavaScript module for pages without a build.',
  gives: 'coinop',
  more: ' The calls that it makes are subject to ALLOWED_ORIGINS like any others.',
});

export const roomsLibrary = library({
  name: 'rooms',
  operationId: 'getRoomsLibrary',
  summary: 'The part of the client library that plays in rooms, a JavaScript module beside `/client.js`.',
  gives: 'playRoom',
});

export const savesLibrary = library({
  name: 'saves',
  operationId: 'getSavesLibrary',
  summary: 'The part of the client library that keeps saves, a JavaScript module beside `/client.js`.',
  gives: 'savesOf',
});
