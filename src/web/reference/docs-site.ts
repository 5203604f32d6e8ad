import { version } from '../version.ts';
import { html } from '../html.ts';
import { channelsPage, type AsyncapiParts } from './channels-page.ts';
import { addressesFrom, docsFiles, markdownOf, type DocsFile } from './docs-files.ts';
import { docsLayout, type DocsPage, type PageGroup } from './docs-layout.ts';
import type { ErrorGivers } from './error-givers.ts';
import { errorsPage } from './errors-page.ts';
import { pageOf, type MarkdownPage } from './markdown.ts';
import { OF_SERVICE, referencePage, referencePath, tagged, type OpenapiParts, type Tagged } from './reference-page.ts';
import { searchIndex } from './search-index.ts';
import { startPage } from './start-page.ts';

/** The data from which the pages are made, besides the files of the repository. */
export interface DocsSources {
  readonly openapi: OpenapiParts;
  readonly asyncapi: AsyncapiParts;
  readonly givers: ErrorGivers;
}

/** The groups of guides. Each guide is named as its file is. A guide that no group names joins the last one. */
const GUIDES: readonly (readonly [heading: string, names: readonly string[]])[] = [
  ['Start', ['readme', 'client', 'clients/javascript', 'clients/gdscript', 'clients/csharp', 'clients/python']],
  ['Games', ['boards', 'catalogue', 'sign-ins', 'stores', 'sandbox', 'guarantees']],
  ['Servers', ['authority', 'events', 'webhooks']],
  [
    'Operate',
    [
      'operating',
      'console',
      'operator',
      'operations/incidents',
      'operations/runbook',
      'operations/proxies',
      'backup',
      'scale-out',
      'upgrading',
      'platforms',
    ],
  ],
];

/**
 * All texts below /docs, and /llms.txt, by their paths: the pages as HTML, the guides as Markdown too (`/docs/client.md`), the samples that
 * guides name, and the index of the search.
 */
export function docsSite({ openapi, asyncapi, givers }: DocsSources): Record<string, string> {
  const files = docsFiles();
  const written = files.filter(({ file }) => file.endsWith('.md'));
  const pageIn = (file: DocsFile, samplesApart: boolean): MarkdownPage =>
    pageOf(file.text, addressesFrom(file.file, files, ''), samplesApart);
  const tags = tagged(openapi);
  const calls = new Map(tags.map((each) => [referencePath(each.tag), callsText(each)]));
  const features = tags.map((each) => {
    const about = written.find(({ path }) => path === referencePath(each.tag));
    return referencePage(each, openapi, about && pageIn(about, true));
  });
  const guides = new Map(
    written
      .filter(({ path }) => !path.startsWith('/docs/reference/'))
      .map((file) => [file.path.slice('/docs/'.length), guidePage(file.path, pageIn(file, false))] as const),
  );
  const isOfService = (path: string): boolean => OF_SERVICE.some((tag) => path === referencePath(tag));
  const channels = channelsPage(asyncapi);
  const errors = errorsPage(givers);
  const named = (names: readonly string[]): DocsPage[] => names.flatMap((name) => guides.get(name) ?? []);
  const grouped = new Set(GUIDES.flatMap(([, names]) => names));
  const [[, first], ...others] = GUIDES as [(typeof GUIDES)[number], ...(typeof GUIDES)[number][]];
  const groups: PageGroup[] = [
    { heading: 'Features', pages: features.filter(({ path }) => !isOfService(path)) },
    { heading: 'All features', pages: [channels, errors] },
    ...others.map(([heading, names]) => ({ heading, pages: named(names) })),
    { heading: 'The service', pages: features.filter(({ path }) => isOfService(path)) },
    { heading: 'Inside', pages: named([...guides.keys()].filter((name) => !grouped.has(name))) },
  ].filter(({ pages }) => pages.length > 0);
  const start = startPage(openapi, [{ heading: 'Start', pages: named(first) }, ...groups]);
  const all: PageGroup[] = [{ heading: 'Start', pages: [start, ...named(first)] }, ...groups];
  const pages = all.flatMap((group) => group.pages);
  return {
    ...Object.fromEntries(pages.map((page) => [page.path, docsLayout(page, all)])),
    ...Object.fromEntries(
      files.map((file) =>
        file.file.endsWith('.md') ? [`${file.path}.md`, markdownOf(file, files) + (calls.get(file.path) ?? '')] : [file.path, file.text],
      ),
    ),
    '/docs/search.json': JSON.stringify({ ok: true, sections: searchIndex(pages) }),
    '/llms.txt': llmsText(all, written),
  };
}

/** The calls of a feature for its Markdown. The page lists them with their fields instead. */
function callsText({ listed }: Tagged): string {
  const lines = listed.map(({ method, path, operation: { summary } }) => `- \`${method} ${path}\`: ${summary}`);
  return `\n## Calls\n\nTheir fields and errors are in /openapi.json.\n\n${lines.join('\n')}\n`;
}

function guidePage(path: string, { title: written, about, body, headings }: MarkdownPage): DocsPage {
  // The title of the README is the name of the project, so its page gets another title.
  const title = path === '/docs/readme' ? 'First steps' : written;
  return {
    path,
    name: title,
    about,
    contents: [{ heading: '', links: headings.filter(({ depth }) => depth === 2) }],
    sections: headings,
    main: html`<article class="guide" aria-labelledby="title">
      <h1 id="title">${title}</h1>
      <p class="hint"><a href="${path}.md">This page as Markdown</a></p>
      ${body}
    </article>`,
  };
}

/** The list of pages for language models, in the form of https://llmstxt.org. It leads to the Markdown of each page. */
function llmsText(groups: readonly PageGroup[], written: readonly DocsFile[]): string {
  const inMarkdown = new Set(written.map(({ path }) => path));
  const lists = groups
    .map(({ heading, pages }) => ({ heading, pages: pages.filter(({ path }) => inMarkdown.has(path)) }))
    .filter(({ pages }) => pages.length > 0)
    .map(
      ({ heading, pages }) => `## ${heading}\n\n${pages.map(({ name, path, about }) => `- [${name}](${path}.md): ${about}`).join('\n')}\n`,
    );
  return `# coinop ${version}

> A realtime-first backend for apps and games: coins with an exact ledger, rooms, high scores, pairing, saves, sessions and entitlements.

All paths are below the address of this service. The OpenAPI document is at /openapi.json, the channels over WebSocket are described in
/asyncapi.json, and the client library is at /client.js.

${lists.join('\n')}`;
}
