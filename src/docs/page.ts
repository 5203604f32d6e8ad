import { hash } from 'node:crypto';
import type { ChannelDeclaration } from '../server/live/channel.ts';
import { authOf, type EndpointDeclaration } from '../server/http/endpoint.ts';
import { messagesSent, type Channels } from './asyncapi.ts';
import type { Features } from './openapi.ts';

/** The HTML page: every endpoint by feature and every live channel. It has no script and loads nothing (PAGE_HEADERS). */
export function page(features: Features, channels: Channels): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>coinop: interface</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>coinop</h1>
<p>The backend of a portfolio of apps and games: coins, scores, pairing, rooms, sessions and entitlements.
Every request and reply is JSON. A caller is an install, or the account of a session.
In the examples <code>$base</code> stands for the address of this service.</p>
<nav>${LINKS.map(([path, name]) => `<a href="${path}">${name}</a>`).join('\n')}</nav>
</header>
<main>
${Object.entries(features)
  .map(([feature, endpoints]) => section(feature, endpoints.map(row)))
  .join('\n')}
${section('live channels', channels.map(channelRow))}
</main>
</body>
</html>
`;
}

const LINKS = [
  ['/openapi.json', 'OpenAPI'],
  ['/asyncapi.json', 'AsyncAPI'],
  ['/?format=json', 'List as JSON'],
  ['/health', 'Health'],
  ['/ready', 'Readiness'],
  ['/metrics', 'Metrics'],
] as const;

function section(heading: string, rows: readonly string[]): string {
  if (rows.length === 0) return '';
  const id = escape(heading.replaceAll(' ', '-'));
  return `<section aria-labelledby="${id}">\n<h2 id="${id}">${escape(heading)}</h2>\n${rows.join('\n')}\n</section>`;
}

function row(endpoint: EndpointDeclaration): string {
  const { method, path, aliases = [], summary, description, example } = endpoint;
  const auth = authOf(endpoint);
  const notes = [
    description === undefined ? '' : `<p>${prose(description)}</p>`,
    auth === 'none' ? '' : `<p>Auth: ${auth}.</p>`,
    aliases.length === 0 ? '' : `<p>Also at ${aliases.map((alias) => `<code>${escape(alias)}</code>`).join(', ')}.</p>`,
  ];
  return `<details><summary><b class="${method.toLowerCase()}">${method}</b> <code>${breakable(path)}</code> <span>${prose(summary)}</span></summary>
${notes.join('')}<pre tabindex="0">${escape(example)}</pre></details>`;
}

function channelRow(channel: ChannelDeclaration): string {
  const { path, summary, description, query, receives } = channel;
  const named = (types: readonly string[]): string => types.map((type) => `<code>${escape(type)}</code>`).join(', ');
  const taken = Object.keys(receives);
  const notes = [
    description === undefined ? '' : `<p>${prose(description)}</p>`,
    `<p>Sends ${named(Object.keys(messagesSent(channel)))}${taken.length === 0 ? '' : `; takes ${named(taken)}`}.</p>`,
  ];
  const asked = Object.keys(query?.shape ?? {})
    .map((name) => `${name}={${name}}`)
    .join('&');
  const address = `${path}${asked === '' ? '' : `?${asked}`}`.replaceAll('{', '${');
  const example = `const socket = new WebSocket(\`\${location.origin.replace('http', 'ws')}${address}\`);\nsocket.onmessage = ({ data }) => console.log(JSON.parse(data));`;
  return `<details><summary><b class="ws">WS</b> <code>${breakable(path)}</code> <span>${prose(summary)}</span></summary>
${notes.join('')}<pre tabindex="0">${escape(example)}</pre></details>`;
}

/** Backquotes in summaries and descriptions mark code. */
function prose(text: string): string {
  return escape(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

/** A long path may break after its slashes. */
function breakable(path: string): string {
  return escape(path).replaceAll('/', '/<wbr>');
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const STYLE = `
:root{--ink:#1c2430;--soft:#596577;--ground:#f6f7f9;--card:#fff;--line:#dfe3e9;--get:#0b6a4b;--post:#7a3ca3;--ws:#8a4b08;--link:#0b57c2}
@media(prefers-color-scheme:dark){:root{--ink:#e7ebf1;--soft:#a2aebf;--ground:#12161c;--card:#1a2029;--line:#2d3642;--get:#5bd3a5;--post:#cfa0f0;--ws:#f0b464;--link:#85b4ff}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2rem 1rem 4rem;max-width:62rem;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
h1{margin:0;font-size:2rem;letter-spacing:-.02em}
h2{margin:2rem 0 .5rem;font-size:1.1rem;text-transform:capitalize}
header p{max-width:46rem;color:var(--soft)}
nav{display:flex;flex-wrap:wrap;gap:.5rem}
nav a{padding:.35rem .8rem;border:1px solid var(--line);border-radius:1rem;background:var(--card);text-decoration:none}
a{color:var(--link)}
section{container-type:inline-size}
details{border:1px solid var(--line);background:var(--card);margin-top:-1px}
details:first-of-type{border-radius:.5rem .5rem 0 0}
details:last-of-type{border-radius:0 0 .5rem .5rem}
details:only-of-type{border-radius:.5rem}
summary{display:grid;grid-template-columns:3rem minmax(0,18rem) minmax(0,1fr) 1rem;gap:0 .75rem;align-items:baseline;padding:.55rem .9rem;cursor:pointer}
summary span{color:var(--soft)}
summary::after{content:"+";grid-area:1/-2;color:var(--soft);text-align:right}
[open]>summary::after{content:"\\2212"}
summary:focus-visible,pre:focus-visible,a:focus-visible{outline:2px solid var(--link);outline-offset:-2px}
b{font-size:.75rem}
.get{color:var(--get)}
.post{color:var(--post)}
.ws{color:var(--ws)}
code,pre{font:.875rem/1.5 ui-monospace,monospace}
details p{margin:.25rem .9rem;white-space:pre-line;overflow-wrap:break-word}
pre{margin:.5rem .9rem .9rem;padding:.7rem;overflow-x:auto;background:var(--ground);border-radius:.35rem}
@container(max-width:40rem){summary{grid-template-columns:3rem minmax(0,1fr) 1rem}summary span{grid-column:1/-1}}
`;

/**
 * The policy forbids scripts, framing and everything loaded but the one style sheet, which its hash allows. connect-src lets
 * a person call the service from the browser's console on this page.
 */
export const PAGE_HEADERS: readonly (readonly [name: string, value: string])[] = [
  [
    'content-security-policy',
    `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  ],
  ['referrer-policy', 'no-referrer'],
];
