import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import { refuse } from '../../errors.ts';
import { CACHED } from '../documents/served-documents.ts';
import { editionOf, madeOnce, sendEdition, SENDS_EDITION } from '../encoded-text.ts';
import { clientParts } from './client-module.ts';

const editions = new Map(Object.entries(clientParts).map(([name, text]) => [name, madeOnce(async () => editionOf(text()))]));

export const clientPart = endpoint({
  method: 'GET',
  path: '/client/{module}',
  operationId: 'getClientPart',
  caller: 'none',
  summary: 'A part of the client library, a JavaScript module that `/client.js` imports when a page first needs it.',
  ...SENDS_EDITION,
  params: z.object({ module: z.string().meta({ description: 'Its name: `account.js`.', example: 'account.js' }) }),
  reply: z.object({}),
  mediaType: 'text/javascript; charset=utf-8',
  anyOrigin: true,
  errors: ['not_found'],
  example: `curl -s $base/client/account.js`,
  async handle({ params: { module }, meta }) {
    const edition = editions.get(module);
    return edition === undefined ? refuse('not_found') : sendEdition(await edition(), meta, [CACHED]);
  },
});
