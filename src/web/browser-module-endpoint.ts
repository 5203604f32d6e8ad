import { z } from 'zod';
import { endpoint, type Services } from '../declare.ts';
import { refuse } from '../errors.ts';
import { browserModules } from './browser-modules.ts';
import { ASKED_EACH_TIME, sendEdition, SENDS_EDITION } from './encoded-text.ts';

const ofPages = browserModules(new URL('browser/', import.meta.url));

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
  async handle({ params: { name }, meta }, { pageModules }: Pick<Services, 'pageModules'>) {
    for (const modules of [ofPages, ...pageModules]) {
      const module = (await modules()).get(name);
      if (module !== undefined) return sendEdition(module, meta, ASKED_EACH_TIME);
    }
    return refuse('not_found');
  },
});
