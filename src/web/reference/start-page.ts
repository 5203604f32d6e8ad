import { html } from '../html.ts';
import type { DocsPage, PageGroup } from './docs-layout.ts';
import { breakable, codeBlock, paragraphs, prose } from './prose.ts';
import { methodMark, referencePath, tagged, type OpenapiParts } from './reference-page.ts';

/** The page at /docs: where to begin, all other pages, and every call. */
export function startPage(openapi: OpenapiParts, groups: readonly PageGroup[]): DocsPage {
  const names = new Map(groups.flatMap(({ pages }) => pages.map(({ path, name }) => [path, name])));
  return {
    path: '/docs',
    name: 'Documentation',
    about: 'How to build a game on coinop, how to run the service, and every call.',
    contents: [
      {
        heading: '',
        links: [
          { id: 'conventions', text: 'Conventions' },
          { id: 'all-pages', text: 'All pages' },
          { id: 'calls', text: 'Every call' },
        ],
      },
    ],
    main: html`<section class="introduction" aria-labelledby="title">
        <div class="about guide">
          <h1 id="title">Documentation</h1>
          <p>
            A page of a game needs one import, and no build. <a href="/docs/clients/javascript">The client for JavaScript</a> shows the
            handful of calls that most games make, and <a href="/docs/client">the others</a> are for Unity, Godot and Python. Each feature
            has a page that says what it is for, with a whole example, and with a form to try each call.
          </p>
          <p>
            Servers call with plain HTTP: <a href="/openapi.json">the OpenAPI document</a> is for generated clients, and
            <a href="/asyncapi.json">the AsyncAPI document</a> describes the live channels. <a href="/llms.txt">/llms.txt</a> lists all
            guides as Markdown.
          </p>
        </div>
        <div class="stack beside">${codeBlock('JavaScript', FIRST_CALL)}</div>
      </section>
      <section class="tag guide" aria-labelledby="conventions">
        <h2 id="conventions"><a href="#conventions">Conventions</a></h2>
        ${paragraphs(openapi.info.description)}
      </section>
      <section class="tag" aria-labelledby="all-pages">
        <h2 id="all-pages"><a href="#all-pages">All pages</a></h2>
        ${groups.map(
          ({ heading, pages }) =>
            html`<h3>${heading}</h3>
              <ul class="index">
                ${pages.map(({ path, name, about }) => html`<li><a href="${path}">${name}</a> <span class="hint">${prose(about)}</span></li> `)}
              </ul>`,
        )}
      </section>
      <section class="tag" aria-labelledby="calls">
        <h2 id="calls"><a href="#calls">Every call</a></h2>
        ${tagged(openapi).map(
          ({ tag, listed }) =>
            html`<h3>${names.get(referencePath(tag))!}</h3>
              <ul class="index givers">
                ${listed.map(
                  ({ method, path, operation: { operationId, summary } }) =>
                    html`<li id="${operationId}">
                      <a href="${referencePath(tag, operationId)}">${methodMark(method)}<code>${breakable(path)}</code></a>
                      <span class="hint">${prose(summary)}</span>
                    </li> `,
                )}
              </ul>`,
        )}
      </section>`,
  };
}

const FIRST_CALL = `import { coinop } from 'https://coinop.example/client.js';

const client = coinop({ url: 'https://coinop.example' });
const paid = await client.coins.credit({ coins: 5 });
if (paid.ok) console.log(paid.balanceAfterCoins);`;
