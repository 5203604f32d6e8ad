import type { ChannelDeclaration } from '../../server/live/channel.ts';
import { authOf, type EndpointDeclaration } from '../../server/http/endpoint.ts';
import { homePage, type Shown } from '../pages/home.ts';
import { html, type Html } from '../html.ts';
import { messagesSent, type Channels } from './asyncapi.ts';
import type { Features } from './openapi.ts';

/** The HTML page at `/`: what the service is, the playground, every endpoint by feature, and every live channel. */
export function page(features: Features, channels: Channels, shown: Shown): string {
  return homePage(shown, [
    ...Object.entries(features).map(([feature, endpoints]) => section(feature, endpoints.map(row))),
    ...(channels.length === 0 ? [] : [section('live channels', channels.map(channelRow))]),
  ]);
}

function section(heading: string, rows: readonly Html[]): Html {
  const id = `endpoints-${heading.replaceAll(' ', '-')}`;
  return html`<section class="endpoints" aria-labelledby="${id}">
    <h3 id="${id}">${heading}</h3>
    <div class="card">${rows}</div>
  </section> `;
}

function row(endpoint: EndpointDeclaration): Html {
  const { method, path, aliases = [], summary, description, example } = endpoint;
  const auth = authOf(endpoint);
  return html`<details>
    <summary>
      <b class="method ${method.toLowerCase()}">${method}</b> <code>${breakable(path)}</code> <span class="hint">${prose(summary)}</span>
    </summary>
    ${description === undefined ? [] : html`<p>${prose(description)}</p>`} ${auth === 'none' ? [] : html`<p>Auth: ${auth}.</p>`}
    ${aliases.length === 0 ? [] : html`<p>Also at ${commaSeparated(aliases)}.</p>`}
    <pre class="code" tabindex="0">${example}</pre>
  </details> `;
}

function channelRow(channel: ChannelDeclaration): Html {
  const { path, summary, description, query, receives } = channel;
  const taken = Object.keys(receives);
  const asked = Object.keys(query?.shape ?? {})
    .map((name) => `${name}={${name}}`)
    .join('&');
  const address = `${path}${asked === '' ? '' : `?${asked}`}`.replaceAll('{', '${');
  const example = `const socket = new WebSocket(\`\${location.origin.replace('http', 'ws')}${address}\`);\nsocket.onmessage = ({ data }) => console.log(JSON.parse(data));`;
  return html`<details>
    <summary><b class="method ws">WS</b> <code>${breakable(path)}</code> <span class="hint">${prose(summary)}</span></summary>
    ${description === undefined ? [] : html`<p>${prose(description)}</p>`}
    <p>Sends ${commaSeparated(Object.keys(messagesSent(channel)))}${taken.length === 0 ? [] : html`; takes ${commaSeparated(taken)}`}.</p>
    <pre class="code" tabindex="0">${example}</pre>
  </details> `;
}

function commaSeparated(names: readonly string[]): Html[] {
  return names.map((name, index) => html`${index === 0 ? '' : ', '}<code>${name}</code>`);
}

/** Text as HTML. Backquotes in summaries and descriptions mark code. */
function prose(text: string): Html[] {
  return text.split(/`([^`]+)`/).map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
}

/** A path as HTML that may break after its slashes, because a long path would not fit into a line. */
function breakable(path: string): Html[] {
  return path.split(/(?<=\/)/).map((part) => html`${part}${part.endsWith('/') ? html`<wbr />` : ''}`);
}
