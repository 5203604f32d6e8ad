import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import { Encoded, Reply } from '../../server/http/endpoint.ts';
import { browserModules } from '../../web/browser-modules.ts';
import { HTML, pageHeaders } from '../../web/layout.ts';
import { closedConsole, openConsole } from '../../web/pages/console.ts';

/** What the page runs. `shown/` is the tool's too. */
export const consoleModules = [new URL('browser/', import.meta.url), new URL('../shown/', import.meta.url)].map(browserModules);

const pageOf = (text: string) =>
  endpoint({
    method: 'GET',
    path: '/console',
    caller: 'none',
    summary: 'The page of operators.',
    reply: z.object({}),
    mediaType: HTML,
    example: '',
    handle: () =>
      new Reply(new Encoded(text), {
        headers: [...pageHeaders(), ['x-frame-options', 'DENY'], ['cross-origin-opener-policy', 'same-origin']],
      }),
  });

export const page = pageOf(openConsole);

/** The page in development without ADMIN_API. It says how to open the console. */
export const closedPage = pageOf(closedConsole);
