import { html, type Html } from '../html.ts';
import { exampleOf } from '../documents/examples.ts';
import type { Schema } from '../documents/schemas.ts';
import { fieldItem, fieldList, type Components } from './fields.ts';
import type { DocsPage } from './docs-layout.ts';
import { breakable, codeBlock, errorLink, json, paragraphs } from './prose.ts';
import { methodMark, referencePath } from './reference-page.ts';

/** The parts of the AsyncAPI document that this page reads. */
export interface AsyncapiParts {
  readonly info: { readonly description: string };
  readonly channels: Readonly<Record<string, object>>;
  readonly operations: Readonly<Record<string, object>>;
  readonly components: { readonly messages: Readonly<Record<string, object>>; readonly schemas: Components };
  readonly 'x-close-codes': readonly CloseCode[];
}

interface CloseCode {
  readonly code: number;
  readonly reconnect: boolean;
  readonly description: string;
}

interface Message {
  readonly $ref?: string;
  readonly name: string;
  readonly description?: string;
  readonly payload: Schema;
}

interface Channel {
  readonly address: string;
  readonly summary: string;
  readonly description: string;
  readonly messages: Readonly<Record<string, Message>>;
  readonly parameters?: Readonly<Record<string, Schema>>;
  readonly bindings: { readonly ws: { readonly query?: Schema; readonly headers: Schema } };
  readonly 'x-upgrade-errors': { readonly errors: readonly { readonly status: number; readonly code: string }[] };
}

interface Operation {
  readonly action: 'send' | 'receive';
  readonly channel: { readonly $ref: string };
  readonly messages: readonly { readonly $ref: string }[];
}

/** The HTML page with every live channel of the AsyncAPI document: its messages, and the codes that close it. */
export function channelsPage(asyncapi: AsyncapiParts): DocsPage {
  const channels = Object.entries(asyncapi.channels as Record<string, Channel>);
  // The list of close codes is cut off, because the page has a section of its own for close codes.
  const [about = ''] = asyncapi.info.description.split(/\n\n(?=Close codes)/);
  return {
    path: '/docs/channels',
    name: 'Live channels',
    about: 'The WebSocket channels: their messages, who may send them, and how they close.',
    contents: [
      ...channels.map(([id, { address, messages }]) => ({
        heading: address.replace(/^\/v1/, ''),
        links: [
          { id, text: 'The channel', label: methodMark('WS') },
          ...Object.keys(messages).map((type) => ({ id: `${id}-${type}`, text: type })),
        ],
      })),
      { heading: 'All channels', links: [{ id: 'close-codes', text: 'Close codes' }] },
    ],
    main: html`<section class="introduction" id="introduction" aria-labelledby="title">
        <div class="about">
          <h1 id="title">Live channels</h1>
          ${paragraphs(about)}
        </div>
        <div class="stack beside">
          ${codeBlock('With the client library', CLIENT_EXAMPLE)}
          <p class="links"><a href="/asyncapi.json">AsyncAPI document</a> <a href="/docs/errors">Error codes</a></p>
        </div>
      </section>
      ${channels.map(([id, channel]) => section(id, channel, asyncapi))} ${closeCodes(asyncapi['x-close-codes'])}`,
  };
}

const CLIENT_EXAMPLE = `import { coinop }
  from '$base/client.js';

const client = coinop({ url: '$base' });
client.watchRoom('BCDFG', (room) => {
  console.log(room);
});`;

function section(id: string, channel: Channel, { operations, components }: AsyncapiParts): Html {
  const { address, summary, description, messages, parameters = {}, bindings } = channel;
  const { query, headers } = bindings.ws;
  // The description in the document ends with a list of the errors of refused upgrades. The page lists these errors below, under a heading
  // of their own.
  const [about = ''] = description.split(/\n*A refused upgrade gets/);
  return html`<section class="tag" aria-labelledby="${id}-title">
    <div class="operation" id="${id}">
      <div class="about">
        <h2 id="${id}-title"><a href="#${id}">${titleOf(address)}</a></h2>
        <p class="address">${methodMark('WS')}<code>${breakable(address)}</code></p>
        <p>${summary}</p>
        ${paragraphs(about)}
        ${
          Object.keys(parameters).length === 0
            ? ''
            : html`<h3>Path</h3>
                <ul class="fields">
                  ${Object.entries(parameters).map(([name, schema]) => fieldItem(name, { type: 'string', ...schema }, 'required', components.schemas))}
                </ul>`
        }
        ${
          query === undefined
            ? ''
            : html`<h3>Query</h3>
                ${fieldList(query, components.schemas)}`
        }
        <h3>Headers of the upgrade</h3>
        ${fieldList(headers, components.schemas)}
        <h3>Refused upgrades</h3>
        <p>
          A refused upgrade gets the HTTP status and JSON error of a refused request. A browser hides them from the page: a GET of the same
          room or pairing answers with the reason.
        </p>
        <ul class="codes">
          ${[...Map.groupBy(channel['x-upgrade-errors'].errors, ({ status }) => status)].map(
            ([status, group]) =>
              html`<li>
                <span class="hint">${status}</span>
                ${group.map(({ code }) => html`${errorLink(code)} `)}
              </li> `,
          )}
        </ul>
      </div>
      <div class="stack beside">${codeBlock('JavaScript', socketExample(address, query))}</div>
    </div>
    ${Object.entries(messages).map(([type, message]) => messageSection(id, type, message, operations, components))}
  </section> `;
}

function socketExample(address: string, query: Schema | undefined): string {
  const asked = Object.keys((query?.['properties'] ?? {}) as object).map((name) => `${name}={${name}}`);
  const url = `${address}${asked.length === 0 ? '' : `?${asked.join('&')}`}`.replaceAll('{', '${');
  return `const socket = new WebSocket(\n  \`$wsbase${url}\`,\n);\nsocket.onmessage = ({ data }) => {\n  const message = JSON.parse(data);\n  console.log(message.type, message);\n};`;
}

function messageSection(
  channelId: string,
  type: string,
  given: Message,
  operations: AsyncapiParts['operations'],
  components: AsyncapiParts['components'],
): Html {
  const message = given.$ref === undefined ? given : (components.messages[given.$ref.split('/').at(-1)!] as Message);
  const isReceived = (Object.values(operations) as Operation[]).some(
    ({ action, channel, messages }) =>
      action === 'receive' && channel.$ref.endsWith(`/${channelId}`) && messages.some(({ $ref }) => $ref.endsWith(`/${type}`)),
  );
  const id = `${channelId}-${type}`;
  return html`<article class="operation" id="${id}" aria-labelledby="${id}-title">
    <div class="about">
      <h3 id="${id}-title">
        <a href="#${id}"><code>${type}</code></a>
      </h3>
      <p class="hint">${isReceived ? 'Sent by the client.' : 'Sent by the service.'}</p>
      ${paragraphs(message.description ?? '')} ${fieldList(message.payload, components.schemas)}
    </div>
    <div class="stack beside">
      ${codeBlock(isReceived ? 'Send' : 'Message', json(exampleOf(withExamples(message.payload) as Schema, withExamples(components.schemas) as Components)))}
    </div>
  </article> `;
}

/** The schema with `example` and `enum`, as in OpenAPI, instead of AsyncAPI's `examples` and `const`. */
function withExamples(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withExamples);
  if (typeof value !== 'object' || value === null) return value;
  const { examples, const: constant, ...others } = value as Record<string, unknown>;
  return {
    ...Object.fromEntries(Object.entries(others).map(([key, below]) => [key, withExamples(below)])),
    ...(Array.isArray(examples) ? { example: examples[0] } : examples === undefined ? {} : { examples: withExamples(examples) }),
    ...(constant === undefined ? {} : typeof constant === 'object' ? { const: withExamples(constant) } : { enum: [constant] }),
  };
}

function closeCodes(closes: readonly CloseCode[]): Html {
  return html`<section class="tag" id="close-codes" aria-labelledby="close-codes-title">
    <div class="tag-head">
      <h2 id="close-codes-title">Close codes</h2>
      <p>
        Codes from 4500 on are final. After any other code, and after 1006 (a connection that ended without a code), wait for a random
        moment and connect again: a new connection starts with the whole state. Networks without WebSocket have the long-polls
        <a href="${referencePath('rooms', 'getRoom')}"><code>GET /v1/rooms/{code}</code></a> and
        <a href="${referencePath('pairing', 'getPairing')}"><code>GET /v1/pair/status</code></a
        >.
      </p>
    </div>
    <div class="sideways" tabindex="0" role="group" aria-labelledby="close-codes-title">
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            <th scope="col" role="columnheader">Code</th>
            <th scope="col" role="columnheader">Then</th>
            <th scope="col" role="columnheader">Meaning</th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${closes.map(
            ({ code, reconnect, description }) =>
              html`<tr role="row">
                <th scope="row" role="rowheader"><code>${code}</code></th>
                <td role="cell" data-label="Then">${reconnect ? 'Connect again' : 'Final'}</td>
                <td role="cell" data-label="Meaning">${description}</td>
              </tr> `,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function titleOf(address: string): string {
  if (address.includes('lobby')) return 'The list of rooms';
  if (address.includes('highscores')) return 'A board';
  if (address.includes('account')) return 'The account';
  return address.includes('room') ? 'A room' : 'A pairing';
}
