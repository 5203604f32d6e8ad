import { errors, type ErrorCode } from '../../errors.ts';
import { html, type Html } from '../html.ts';
import { errorExample } from '../documents/examples.ts';
import type { ErrorGivers, Giver } from './error-givers.ts';
import type { DocsPage } from './docs-layout.ts';
import { codeBlock, json, prose } from './prose.ts';
import { methodMark } from './reference-page.ts';

const codes = Object.keys(errors) as ErrorCode[];

/** The origin of some codes, besides the endpoints and channels that declare them. */
const elsewhere: Partial<Record<ErrorCode, string>> = {
  invalid_request: 'every path, for headers that are malformed',
  not_found: 'every path that the service does not have',
  account_not_found: 'the paths of operators, with ADMIN_API=on',
  purchase_not_found: 'the paths of operators, with ADMIN_API=on',
  entry_not_found: 'the paths of operators, with ADMIN_API=on',
  webhook_not_found: 'the paths of operators, with ADMIN_API=on',
  event_not_found: 'the paths of operators, with ADMIN_API=on',
  webhooks_full: 'the paths of operators, with ADMIN_API=on',
  method_not_allowed: 'every path',
  overloaded: 'every path',
};

/** The HTML page with every error code: its meaning, what a client should do about it, and the endpoints and channels that give it. */
export function errorsPage(givers: ErrorGivers): DocsPage {
  const statuses = [...Map.groupBy(codes, (code) => errors[code].status)].sort(([one], [other]) => one - other);
  return {
    path: '/docs/errors',
    name: 'Error codes',
    about: 'Every error code: what it means, what to do about it, and which calls give it.',
    contents: statuses.map(([status, group]) => ({ heading: String(status), links: group.map((code) => ({ id: code, text: code })) })),
    main: html`<section class="introduction" id="introduction" aria-labelledby="title">
        <div class="about">
          <h1 id="title">Error codes</h1>
          <p>
            Every refusal has this body. Programs decide by <code>error.code</code>, which is stable. <code>error.message</code> is for
            people and may change. <code>requestId</code> is also the header <code>x-request-id</code>, and stands in the service's log.
          </p>
          <p>
            A request that was refused with a 4xx changed nothing; only the nonce of <code>store-install</code> is used up. After 500, or
            503 with <code>outcome: "unknown"</code>, it may have happened: send the same request again, with the same key.
          </p>
        </div>
        <div class="stack beside">${codeBlock('409', json(errorExample('insufficient_coins')))}</div>
      </section>
      ${statuses.map(
        ([status, group]) =>
          html`<section class="tag" aria-labelledby="status-${status}">
            <div class="tag-head"><h2 id="status-${status}">${status} ${STATUS_NAMES[status] ?? ''}</h2></div>
            <div class="sideways" tabindex="0" role="group" aria-labelledby="status-${status}">
              <table role="table">
                <thead role="rowgroup">
                  <tr role="row">
                    <th scope="col" role="columnheader">Code</th>
                    <th scope="col" role="columnheader">Meaning</th>
                    <th scope="col" role="columnheader">What to do</th>
                    <th scope="col" role="columnheader">Given by</th>
                  </tr>
                </thead>
                <tbody role="rowgroup">
                  ${group.map(
                    (code) =>
                      html`<tr id="${code}" role="row">
                        <th scope="row" role="rowheader">
                          <a href="#${code}"><code>${code}</code></a>
                        </th>
                        <td role="cell" data-label="Meaning">${errors[code].message}</td>
                        <td role="cell" data-label="What to do">${prose(errors[code].advice)}</td>
                        <td role="cell" data-label="Given by">${giverList(code, givers[code])}</td>
                      </tr> `,
                  )}
                </tbody>
              </table>
            </div>
          </section> `,
      )}`,
  };
}

const STATUS_NAMES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'Conflict',
  413: 'Content too large',
  415: 'Unsupported media type',
  422: 'Unprocessable content',
  426: 'Upgrade required',
  429: 'Too many requests',
  500: 'Internal server error',
  503: 'Service unavailable',
};

/** How many endpoints are shown for a code. The others are folded. A code that almost every endpoint may give has some fifty. */
const SHOWN = 4;

function giverList(code: ErrorCode, givers: readonly Giver[]): Html {
  const live = givers.filter(({ method }) => method === 'WS').length;
  const links = givers.map(
    ({ method, path, href }) =>
      html`<li>
        <a href="${href}">${methodMark(method)}<code>${path}</code></a>
      </li> `,
  );
  const everywhere = elsewhere[code] === undefined ? [] : [html`<p>${elsewhere[code][0]!.toUpperCase()}${elsewhere[code].slice(1)}.</p>`];
  if (links.length === 0) return html`${everywhere}`;
  const list = html`<ul class="givers">
    ${links}
  </ul>`;
  return html`${everywhere}${
    links.length <= SHOWN
      ? list
      : html`<details>
          <summary>
            ${counted(givers.length - live, 'endpoint')}${live === 0 ? '' : `, ${counted(live, 'channel')}`}<span class="hidden">
              that give ${code}</span
            >
          </summary>
          ${list}
        </details>`
  }`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
