import { html, type Html } from '../../pages/html.ts';
import { ICON } from '../../pages/layout.ts';

/** A page of the documentation, before the frame of all of them is put around it. */
export interface PageParts {
  readonly path: '/docs' | '/docs/channels' | '/docs/errors';
  readonly title: string;
  /** For search engines and previews. */
  readonly description: string;
  /** What the field for the search looks through. */
  readonly searched: string;
  readonly contents: readonly ContentsGroup[];
  readonly main: Html;
}

/** Links to the sections of the page. */
export interface ContentsGroup {
  readonly heading: string;
  readonly links: readonly { readonly id: string; readonly text: string; readonly label?: Html }[];
}

const PAGES = [
  ['/docs', 'Reference'],
  ['/docs/channels', 'Channels'],
  ['/docs/errors', 'Errors'],
] as const;

/** A whole page. Nothing in it is inline or comes from elsewhere, because `pageHeaders` forbids that. */
export function frame({ path, title, description, searched, contents, main }: PageParts): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${title}</title>
        <meta name="description" content="${description}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" href="${ICON}" />
        <link rel="stylesheet" href="/docs/style.css" />
        <script type="module" src="/pages/modules/docs.js"></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <a class="brand" href="/"><span class="coin" aria-hidden="true"></span>coinop</a>
          <nav aria-label="Documentation">
            <ul>
              ${PAGES.map(
                ([page, name]) => html`<li><a href="${page}" ${page === path ? html` aria-current="page"` : ''}>${name}</a></li>`,
              )}
            </ul>
          </nav>
          <button type="button" class="open-contents" popovertarget="contents">Contents</button>
        </header>
        <div class="columns">
          <div class="contents" id="contents" popover>
            <search class="scripted">
              <label for="search">Search ${searched}</label
              ><span class="search-box"
                ><input
                  id="search"
                  type="search"
                  autocomplete="off"
                  spellcheck="false"
                  aria-keyshortcuts="/"
                  aria-describedby="found"
                /><kbd aria-hidden="true">/</kbd></span
              >
              <p id="found" role="status"></p>
            </search>
            <nav aria-label="On this page">
              ${contents.map(
                ({ heading, links }) =>
                  html`<div class="group">
                    <p>${heading}</p>
                    <ul>
                      ${links.map(
                        ({ id, text, label = html`` }) =>
                          html`<li>
                            <a href="#${id}">${label}<span>${text}</span></a>
                          </li> `,
                      )}
                    </ul>
                  </div> `,
              )}
            </nav>
          </div>
          <main id="main" tabindex="-1">${main}</main>
        </div>
      </body>
    </html> `.text;
}
