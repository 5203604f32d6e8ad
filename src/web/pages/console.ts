import { html, type Html } from '../html.ts';
import { layout } from '../layout.ts';

/** The HTML of the console before its script knows who is signed in. The modules of browser/ fill the element `#view`. */
export const openConsole = layout({
  title: 'Console · coinop',
  description: 'For people who help users.',
  styles: ['/pages/styles/console.css'],
  modules: ['console'],
  imported: [
    'cells',
    'console-account',
    'console-bulk',
    'console-calls',
    'console-change',
    'console-fields',
    'console-file',
    'console-keys',
    'console-lists',
    'console-numbers',
    'console-parts',
    'console-plot',
    'console-requests',
    'console-room',
    'console-search',
    'console-sign-in',
    'console-webhooks',
    'dom',
    'shown-account',
    'shown-boards',
    'shown-keys',
    'shown-log',
    'shown-numbers',
    'shown-purchases',
    'shown-requests',
    'shown-rooms',
    'shown-timeline',
    'shown-webhooks',
    'user-agent',
  ],
  body: console(
    html`<main id="main" class="wide stack" tabindex="-1" aria-busy="true">
      <noscript><p class="card">The console needs JavaScript.</p></noscript>
    </main>`,
  ),
});

export const closedConsole = layout({
  title: 'Console · coinop',
  description: 'The console of this service is closed.',
  imported: [],
  body: html`<main id="main" class="phone" tabindex="-1">
    <p class="brand"><span class="coin" aria-hidden="true"></span>coinop</p>
    <div class="card">
      <h1>The console is closed</h1>
      <p class="lead">
        It shows what the paths of operators give, and this service has none. Start it with them, and make a key for yourself:
      </p>
      <pre class="code">
ADMIN_API=on npm start
npm run admin -- keys create --name me --role admin</pre>
      <p class="stack"><a class="button" href="/">To the start page</a></p>
    </div>
  </main>`,
});

function console(main: Html): Html {
  return html`<header class="top">
      <p class="brand"><span class="coin" aria-hidden="true"></span>coinop <span class="chip">console</span></p>
      <div id="bar" class="row"></div>
    </header>
    ${main}
    <p role="status" class="hidden" id="said"></p>`;
}
