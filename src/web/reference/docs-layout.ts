import { html, type Html } from '../html.ts';
import { layout } from '../layout.ts';

/** What differs between the pages of the documentation. The layout is the same for all. */
export interface DocsPage {
  readonly path: '/docs' | '/docs/channels' | '/docs/errors';
  readonly title: string;
  /** The text that search engines and previews show. */
  readonly description: string;
  /** What can be searched on the page, for the label of the search field. */
  readonly searched: string;
  readonly contents: readonly ContentsGroup[];
  readonly main: Html;
}

/** A group of links in the table of contents, which lead to sections of the page. */
export interface ContentsGroup {
  readonly heading: string;
  readonly links: readonly { readonly id: string; readonly text: string; readonly label?: Html }[];
}

const PAGES = [
  ['/docs', 'Reference'],
  ['/docs/channels', 'Channels'],
  ['/docs/errors', 'Errors'],
] as const;

export function docsLayout({ path, title, description, searched, contents, main }: DocsPage): string {
  const body = html`<header class="top">
      <a class="brand" href="/"><span class="coin" aria-hidden="true"></span>coinop</a>
      <nav aria-label="Documentation">
        <ul>
          ${PAGES.map(([page, name]) => html`<li><a href="${page}" ${page === path ? html` aria-current="page"` : ''}>${name}</a></li>`)}
        </ul>
      </nav>
      <button type="button" class="small open-contents" popovertarget="contents">Contents</button>
    </header>
    <div class="columns">
      <div class="contents" id="contents" popover>
        <search class="scripted">
          <label for="search">Search ${searched}</label>
          <div class="search-box">
            <input id="search" type="search" autocomplete="off" spellcheck="false" aria-keyshortcuts="/" aria-describedby="found" /><kbd
              class="hint"
              aria-hidden="true"
              >/</kbd
            >
          </div>
          <p id="found" class="label" role="status"></p>
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
    </div>`;
  return layout({ title, description, styles: ['/docs/style.css'], modules: ['docs'], imported: [], body });
}
