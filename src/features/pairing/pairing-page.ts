import { z } from 'zod';
import type { Config } from '../../config.ts';
import { endpoint, type Services } from '../../declare.ts';
import { html } from '../../web/html.ts';
import { HTML, layout, pageHeaders } from '../../web/layout.ts';
import { Encoded, Reply } from '../../server/http/endpoint.ts';
import { PAIR_LIFE_SECONDS } from './model.ts';

export const pairingPage = endpoint({
  method: 'GET',
  path: '/pair',
  operationId: 'showPairing',
  caller: 'none',
  summary: 'The page that the QR code of a pairing opens.',
  description:
    'It shows the match code and the asking browser, and claims the pairing with the session that this browser has, once its user ' +
    'confirms. It makes no account. With `PLAYGROUND=on` it makes a guest if its user asks for one. `APP_LINK` adds a link into the app.',
  query: z.object({
    token: z.string().optional().meta({ description: 'The token of the pairing. If the token is bad, the page says so.' }),
  }),
  reply: z.object({}),
  mediaType: HTML,
  example: `curl -s $base/pair`,
  handle: ({ meta }, { config }: Pick<Services, 'config'>) => new Reply(new Encoded(page(config)), { headers: pageHeaders(meta.origin) }),
});

/** The HTML of the page. The page is the same for every token, because the browser module reads the token from the page's URL. */
function page({ APP_LINK = '', PLAYGROUND }: Config): string {
  return layout({
    title: 'Sign in another screen · coinop',
    description: 'Confirm that another screen may sign in as you.',
    styles: ['/pages/styles/pairing.css'],
    modules: ['pair'],
    imported: ['browsers', 'copy', 'dom', 'players', 'problems', 'user-agent'],
    body: html`<main
      id="main"
      class="phone"
      data-life-seconds="${PAIR_LIFE_SECONDS}"
      data-playground="${PLAYGROUND}"
      data-app-link="${APP_LINK}"
    >
      <p class="brand"><span class="coin" aria-hidden="true"></span>coinop</p>
      <div class="card" id="view">
        <h1 tabindex="-1" id="heading">Sign in another screen</h1>
        <p id="lead" class="lead">Looking at the code that you scanned …</p>
        <div id="match" class="match" hidden><span class="label">Both screens show</span><strong class="big" id="match-code"></strong></div>
        <dl id="requester" class="facts" hidden></dl>
        <p id="left" class="hint" hidden></p>
        <label id="name-field" hidden
          >Your name, for the other screen (optional)<input id="name" maxlength="24" autocomplete="nickname"
        /></label>
        <div id="actions" class="stack"></div>
        <p id="hint" class="hint" hidden></p>
      </div>
      <section class="card" id="browsers" aria-labelledby="browsers-heading" hidden>
        <h2 tabindex="-1" id="browsers-heading">Signed-in browsers</h2>
        <ul class="stack" id="browser-list"></ul>
        <p role="status" class="hint" id="browsers-said"></p>
      </section>
      <p role="status" class="hidden" id="said"></p>
      <noscript><p class="card">This page needs JavaScript. Open the code with the app instead.</p></noscript>
    </main>`,
  });
}
