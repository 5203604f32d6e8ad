import { z } from 'zod';
import { endpoint } from '../declare.ts';
import { refuse } from '../errors.ts';
import { ASKED_EACH_TIME, editionsFrom, sendEdition, SENDS_EDITION } from './edition.ts';

/** The modules of the pages, by name: `home.js`. Made in a worker, because stripping the types takes tens of milliseconds. */
const allModules = editionsFrom(new URL('browser-modules-worker.ts', import.meta.url));

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
    const module = (await allModules()).get(name);
    return module === undefined ? refuse('not_found') : sendEdition(module, meta, ASKED_EACH_TIME);
  },
});
