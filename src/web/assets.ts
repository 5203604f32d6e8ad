import { z } from 'zod';
import { endpoint } from '../declare.ts';
import { refuse } from '../errors.ts';
import { editionsFrom, sendEdition, SENDS_EDITION } from './edition.ts';

/** The files of the pages, by name: `style.css`, `home.js`. To strip the types takes tens of milliseconds. */
const allAssets = editionsFrom(new URL('assets-worker.ts', import.meta.url));

/** `no-cache`: browsers keep a file and ask each time whether it changed, so that a page never mixes files of two versions. */
export const ASKED_EACH_TIME = [['cache-control', 'no-cache']] as const;

export const style = endpoint({
  method: 'GET',
  path: '/pages/style.css',
  operationId: 'getPageStyle',
  caller: 'none',
  summary: 'The style sheet of the HTML pages.',
  ...SENDS_EDITION,
  reply: z.object({}),
  mediaType: 'text/css; charset=utf-8',
  example: `curl -s $base/pages/style.css`,
  handle: async ({ meta }) => sendEdition((await allAssets()).get('style.css')!, meta, ASKED_EACH_TIME),
});

export const pageModule = endpoint({
  method: 'GET',
  path: '/pages/modules/{name}',
  operationId: 'getPageModule',
  caller: 'none',
  summary: 'A JavaScript module of the HTML pages.',
  ...SENDS_EDITION,
  params: z.object({ name: z.string().meta({ description: 'Its name: `home.js`.', example: 'home.js' }) }),
  reply: z.object({}),
  mediaType: 'text/javascript; charset=utf-8',
  errors: ['not_found'],
  example: `curl -s $base/pages/modules/home.js`,
  async handle({ params: { name }, meta }) {
    const asset = name.endsWith('.js') ? (await allAssets()).get(name) : undefined;
    return asset === undefined ? refuse('not_found') : sendEdition(asset, meta, ASKED_EACH_TIME);
  },
});
