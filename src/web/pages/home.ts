import { html, type Html } from '../html.ts';
import { layout } from '../layout.ts';
import { referencePath } from '../reference/reference-page.ts';
import { version } from '../version.ts';

/** The part of the start page in which visitors can try the service. */
export interface Playground {
  readonly section: (shown: { readonly sandbox: boolean }) => Html;
  /** The name of the module that the playground runs. `imported`: the modules that it imports. */
  readonly module: string;
  readonly imported: readonly string[];
}

/** The parts of the start page that depend on settings. */
export interface Shown {
  /** Whether the sandbox stands in for the app store, so that purchases can be tried. */
  readonly sandbox: boolean;
  /** The playground, if the page has one. */
  readonly playground: Playground | undefined;
  /** Whether the service's own port serves `/metrics`. */
  readonly metrics: boolean;
}

/** The HTML of the page at `/`. @param features the names of the features that have a page below /docs */
export function homePage(shown: Shown, features: readonly string[]): string {
  return layout({
    title: 'coinop: a realtime-first backend for games',
    description: 'Coins, scores, rooms, pairing, sessions and entitlements for a portfolio of apps and games.',
    styles: ['/pages/styles/home.css', ...(shown.playground === undefined ? [] : ['/pages/styles/playground.css'])],
    modules: ['home', ...(shown.playground === undefined ? [] : [shown.playground.module])],
    imported: ['dom', 'state', 'copy', ...(shown.playground?.imported ?? [])],
    body: html`<header class="top">
        <a class="brand" href="/"><span class="coin" aria-hidden="true"></span>coinop</a>
        <nav aria-label="Pages">
          <ul>
            ${shown.playground !== undefined ? html`<li><a href="#playground">Playground</a></li>` : ''}
            <li class="far"><a href="#game">Use it</a></li>
            <li class="far"><a href="#endpoints">Endpoints</a></li>
            <li><a href="/docs">Docs</a></li>
          </ul>
        </nav>
      </header>
      <main id="main" class="wide" tabindex="-1" data-sandbox="${shown.sandbox ? 'on' : 'off'}">
        ${hero(shown)} ${shown.playground?.section(shown) ?? ''} ${game} ${documents(shown)}
        <section class="block" id="endpoints" aria-labelledby="endpoints-title">
          <h2 id="endpoints-title">Every endpoint</h2>
          <p class="lead">
            Every request and reply is JSON. A caller is an install, or the account of a session. Each page has the calls of a feature, with
            their fields, their errors, and a form to try them.
          </p>
          <ul class="row features">
            ${features.map((name) => html`<li><a class="button small" href="${referencePath(name)}">${name}</a></li> `)}
            <li><a class="button small" href="/docs/channels">live channels</a></li>
            <li><a class="button small" href="/docs#calls">all calls in one list</a></li>
          </ul>
        </section>
      </main>
      <footer class="wide hint"><p>coinop ${version}. Apache-2.0.</p></footer>`,
  });
}

function hero({ playground }: Shown): Html {
  return html`<section class="hero" aria-labelledby="title">
    <div>
      <h1 id="title">The backend that counts every coin once.</h1>
      <p class="lead">
        coinop keeps coins, scores, rooms, sessions and entitlements for a portfolio of apps and games. Call it with plain REST, watch it
        over WebSocket, run it on one Redis.
      </p>
      <p class="row">
        ${
          playground !== undefined
            ? html`<a class="button primary" href="#playground">Open the playground</a>`
            : html`<a class="button primary" href="/docs">Read the docs</a>`
        }<a class="button" href="#game">A game in twelve lines</a>
      </p>
    </div>
    <aside class="card" aria-labelledby="live-title">
      <h2 id="live-title">This service</h2>
      <dl class="facts">
        <div>
          <dt>State</dt>
          <dd><span class="dot" id="state-dot"></span><span id="state" role="status">Asking …</span></dd>
        </div>
        <div>
          <dt>Answered in</dt>
          <dd id="state-ms">–</dd>
        </div>
        <div>
          <dt>Version</dt>
          <dd>${version}</dd>
        </div>
        <div>
          <dt>Address</dt>
          <dd class="mono" id="state-address">–</dd>
        </div>
      </dl>
      <p class="hint" id="state-reason">Redis answers, and its settings keep coins safe.</p>
    </aside>
  </section>`;
}

/** The address in the example. The page's script puts the page's own address in its place. */
const ORIGIN = 'http://127.0.0.1:3000';

/** The game in the example. The page's script puts the first game of the catalogue in its place. */
const GAME = 'pebble-drop';

/** The source of an example game, which the README shows too. */
export const GAME_SOURCE = `<!doctype html><button id="press">Press</button> <ol id="board"></ol>
<script type="module">
  import { coinop } from '${ORIGIN}/client.js';
  const name = prompt('Your name?') || 'Ada';
  const client = coinop({ url: '${ORIGIN}', name });
  press.onclick = async () => {
    const paid = await client.coins.credit({ coins: 1 }, { timeoutMs: 3000 });
    press.textContent = paid.ok ? \`Coins: \${paid.balanceAfterCoins}\` : (paid.pending ? 'Counts later: ' : '') + paid.error.message;
    const sent = paid.ok && (await client.highscores.submit({ game: '${GAME}', name, score: paid.balanceAfterCoins }));
    if (sent && sent.ok) board.replaceChildren(...sent.top.map((one) => Object.assign(document.createElement('li'), { textContent: \`\${one.name}: \${one.score}\` })));
  };
</script>`;

const gameSource = GAME_SOURCE.split(/(http:\/\/127\.0\.0\.1:3000|pebble-drop)/).map((part) =>
  part === ORIGIN ? html`<span data-origin>${part}</span>` : part === GAME ? html`<span data-game>${part}</span>` : html`${part}`,
);

const game = html`<section class="block" id="game" aria-labelledby="game-title">
  <div class="apart">
    <div>
      <h2 id="game-title">A browser game in twelve lines</h2>
      <p class="lead">
        Save it as <code>game.html</code>, serve its folder with <code>python3 -m http.server</code>, open it in two windows, and press.
        <code>/client.js</code> finishes coin operations after a crash or an outage, keeps the session, and follows rooms.
      </p>
    </div>
    <p><button type="button" class="small" data-copies="game-source">Copy the game</button></p>
  </div>
  <pre class="code" tabindex="0" id="game-source"><code>${gameSource}</code></pre>
</section>`;

const DOCUMENTS: readonly (readonly [href: string, name: string, about: string])[] = [
  ['/docs', 'Docs', 'Guides, a page for each feature with “try it”, the channels and the error codes.'],
  ['/openapi.json', 'OpenAPI', 'The OpenAPI 3.0.3 document, for generated clients.'],
  ['/asyncapi.json', 'AsyncAPI', 'The live channels over WebSocket.'],
  ['/?format=json', 'List as JSON', 'Every endpoint with its schemas and a curl example.'],
  ['/health', 'Health', 'Whether the process is alive.'],
  ['/ready', 'Readiness', 'Whether the service should get traffic, and the reason if not.'],
  ['/metrics', 'Metrics', 'Prometheus text.'],
  ['/client.js', 'Client library', 'One module, 6 KB gzipped, for pages without a build.'],
];

const TOPICS: readonly (readonly [href: string, name: string, about: string])[] = [
  ['/docs/client', 'The clients', 'Coins, boards, rooms and saves in each language'],
  ['/docs/readme', 'First steps', 'Start, the tour with curl, a room watched live'],
  ['/docs/guarantees', 'Guarantees', 'What is promised about coins, rooms and sessions'],
  ['/docs/stores', 'Stores', 'Purchases, subscriptions and sign-ins of app stores'],
  ['/docs/authority', 'Servers', 'Keys of your servers, and coins that no client can mint'],
  ['/docs/operating', 'Operating', 'Settings, production, limits, health, workers'],
];

const documents = ({ metrics }: Shown): Html =>
  html`<section class="block" aria-labelledby="documents-title">
    <h2 id="documents-title">Read on</h2>
    <ul class="grid cards">
      ${DOCUMENTS.filter(([href]) => metrics || href !== '/metrics').map(
        ([href, name, about]) =>
          html`<li>
            <a class="card" href="${href}"><strong>${name}</strong><span class="hint">${about}</span></a>
          </li> `,
      )}
    </ul>
    <h3 id="topics-title">Guides</h3>
    <ul class="grid lines topics" aria-labelledby="topics-title">
      ${TOPICS.map(([href, name, about]) => html`<li class="row"><a href="${href}">${name}</a><span class="hint">${about}</span></li> `)}
    </ul>
  </section>`;
