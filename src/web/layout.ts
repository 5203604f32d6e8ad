import { html, type Html } from './html.ts';

export interface PageParts {
  readonly title: string;
  readonly description: string;
  /** The paths of the page's own style sheets. They come after the style sheet that all pages share. */
  readonly styles?: readonly string[];
  /** The names of the browser modules that the page runs. Default: none. */
  readonly modules?: readonly string[];
  /** The names of the browser modules that these modules import, so that the browser can fetch all of them at the same time. */
  readonly imported: readonly string[];
  readonly body: Html;
}

/**
 * The HTML of a whole page. The page has no inline code or style, and loads nothing from other addresses, because the headers of
 * `pageHeaders` forbid both.
 */
export function layout({ title, description, styles = [], modules = [], imported, body }: PageParts): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${title}</title>
        <meta name="description" content="${description}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" href="${ICON}" />
        ${['/pages/style.css', ...styles].map((path) => html`<link rel="stylesheet" href="${path}" /> `)}
        ${imported.map((name) => html`<link rel="modulepreload" href="/pages/modules/${name}.js" /> `)}
        ${modules.map((name) => html`<script type="module" src="/pages/modules/${name}.js"></script> `)}
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        ${body}
      </body>
    </html> `.text;
}

/** The icon of all pages, a coin. Without an icon in the page browsers would ask for /favicon.ico. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="13" fill="none" stroke="#c2410c" stroke-width="5"/><path d="M16 10v12" stroke="#c2410c" stroke-width="5"/></svg>',
)}`;

export const HTML = 'text/html; charset=utf-8';

/**
 * The headers of every HTML page. The content security policy allows the service's own files, calls and WebSockets, and nothing inline. In
 * browsers older than 2022 `'self'` does not include WebSockets, so their addresses are named as well. Other pages must not frame these
 * pages, and must not learn their addresses, which may contain a token.
 * @param origin the service's origin in the request, `https://coinop.example`, for a page that opens WebSockets
 */
export function pageHeaders(origin?: string): readonly (readonly [name: string, value: string])[] {
  const host = origin?.replace(/^\w+:\/\//, '');
  const sockets = host === undefined ? '' : ` ws://${host} wss://${host}`;
  return [
    [
      'content-security-policy',
      `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'${sockets}; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
    ],
    ['referrer-policy', 'no-referrer'],
  ];
}
