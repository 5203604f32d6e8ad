import { html, type Html } from '../html.ts';
import { layout } from '../layout.ts';

/** A page below /docs. The layout is the same for all. */
export interface DocsPage {
  readonly path: string;
  /** The name in the list of all pages. */
  readonly name: string;
  /** What the page is about, in one sentence. */
  readonly about: string;
  /** The parts of the page. In the list of all pages, the sections of the page stand below its name. */
  readonly contents: readonly ContentsGroup[];
  /** The sections that the search finds. Undefined: those of `contents`. */
  readonly sections?: readonly { readonly id: string; readonly text: string }[];
  readonly main: Html;
}

/** A group of links to sections of the page. */
export interface ContentsGroup {
  /** Empty: the group has none. */
  readonly heading: string;
  readonly links: readonly { readonly id: string; readonly text: string; readonly label?: Html }[];
}

/** A group of pages in the list of all pages. */
export interface PageGroup {
  readonly heading: string;
  readonly pages: readonly DocsPage[];
}

const TOP = [
  ['/docs', 'Docs'],
  ['/docs/channels', 'Channels'],
  ['/docs/errors', 'Errors'],
] as const;

export function docsLayout(page: DocsPage, groups: readonly PageGroup[]): string {
  const body = html`<header class="top">
      <a class="brand" href="/"><span class="coin" aria-hidden="true"></span>coinop</a>
      <nav aria-label="Sections">
        <ul>
          ${TOP.map(([path, name]) => html`<li><a href="${path}" ${path === page.path ? html` aria-current="page"` : ''}>${name}</a></li>`)}
        </ul>
      </nav>
      <button type="button" class="small open-contents" popovertarget="contents">Contents</button>
    </header>
    <div class="columns">
      <div class="contents" id="contents" popover>
        <search class="scripted">
          <label for="search">Search all pages</label>
          <div class="search-box">
            <input id="search" type="search" autocomplete="off" spellcheck="false" aria-keyshortcuts="/" aria-describedby="found" /><kbd
              class="hint"
              aria-hidden="true"
              >/</kbd
            >
          </div>
          <p id="found" class="label" role="status"></p>
        </search>
        <ol id="results" class="group" aria-label="Found" hidden></ol>
        <nav id="docs-pages" aria-label="All pages">
          ${groups.map(
            ({ heading, pages }) =>
              html`<div class="group">
                <p>${heading}</p>
                <ul>
                  ${pages.map((each) => html`<li>${each === page ? html`${pageLink(each, true)} ${contentsOf(each)}` : pageLink(each)}</li> `)}
                </ul>
              </div> `,
          )}
        </nav>
      </div>
      <main id="main" tabindex="-1">${page.main}</main>
    </div>`;
  const { name, about: description } = page;
  return layout({ title: `${name}: coinop`, description, styles: ['/docs/style.css'], modules: ['docs'], imported: [], body });
}

function pageLink({ path, name }: DocsPage, isCurrent = false): Html {
  return html`<a href="${path}" ${isCurrent ? html` aria-current="page"` : ''}><span>${name}</span></a>`;
}

function contentsOf({ contents }: DocsPage): Html {
  if (contents.length === 0) return html``;
  return html`<ul class="parts">
    ${contents
      .map(({ heading, links }) => [
        ...(heading === '' ? [] : [html`<li class="label">${heading}</li> `]),
        ...links.map(
          ({ id, text, label = html`` }) =>
            html`<li>
              <a href="#${id}">${label}<span>${text}</span></a>
            </li> `,
        ),
      ])
      .flat()}
  </ul>`;
}
