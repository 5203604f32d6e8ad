import { html } from '../html.ts';
import { HTML, layout, pageHeaders } from '../layout.ts';
import type { NotFoundPage } from '../../server/http/error-answer.ts';

/** The page with which the service answers at an unknown path. */
export const notFoundPage: NotFoundPage = {
  mediaType: HTML,
  headers: pageHeaders(),
  text: (near, requestId) =>
    layout({
      title: 'No such page · coinop',
      description: 'This service has no page at this address.',
      imported: [],
      body: html`<main id="main" class="phone" tabindex="-1">
        <p class="brand"><span class="coin" aria-hidden="true"></span>coinop</p>
        <div class="card">
          <h1>There is no such page</h1>
          <p class="lead">
            ${near === undefined ? 'This service has nothing at this address.' : html`Without the slash at its end there is: <a href="${near}">${near}</a>`}
          </p>
          <p class="stack"><a class="button primary" href="/">To the start page</a><a class="button" href="/docs">To the docs</a></p>
          <p class="hint">404 not_found, request ${requestId}</p>
        </div>
      </main>`,
    }),
};
