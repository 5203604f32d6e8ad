import { html, type Html } from '../html.ts';
import { exampleOf } from '../documents/examples.ts';
import type { Schema } from '../documents/schemas.ts';
import { fieldItem, fieldList, resolved, type Components } from './fields.ts';
import type { DocsPage } from './docs-layout.ts';
import type { MarkdownPage } from './markdown.ts';
import { breakable, codeBlock, errorLink, json, paragraphs, prose } from './prose.ts';

/** The parts of the OpenAPI document that this page reads. */
export interface OpenapiParts {
  readonly info: { readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string | undefined }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: { readonly schemas: Components; readonly responses: Readonly<Record<string, object>> };
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown; readonly examples?: object }>>;

interface Operation {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: Content }>>;
  readonly security: readonly object[];
  readonly 'x-codeSamples': readonly [{ readonly source: string }];
}

interface Listed {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** A tag of the OpenAPI document with its operations. */
export interface Tagged {
  readonly tag: string;
  readonly description: string;
  readonly listed: readonly Listed[];
}

/** The tags in the order in which the pages list them. */
export function tagged({ tags, paths }: OpenapiParts): Tagged[] {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Listed => ({
      method: method.toUpperCase(),
      path,
      operation: operation as Operation,
    })),
  );
  const sorted = [...tags.filter(({ name }) => !OF_SERVICE.includes(name)), ...tags.filter(({ name }) => OF_SERVICE.includes(name))];
  return sorted.map(({ name: tag, description = '' }) => ({
    tag,
    description,
    listed: operations.filter(({ operation }) => operation.tags[0] === tag),
  }));
}

/** The tags that come last. Most readers want the calls of games and apps. So pages, probes, operators and the sandbox come last. */
export const OF_SERVICE: readonly string[] = ['service', 'docs', 'operator', 'sandbox'];

/** The address of the page of a feature, or of one of its calls. */
export function referencePath(tag: string, operationId?: string): string {
  return `/docs/reference/${encodeURIComponent(tag)}${operationId === undefined ? '' : `#${operationId}`}`;
}

/**
 * The page of a feature: what it is for, a whole example, and each of its calls with its fields, its errors and a form to try it.
 * @param about the page of Markdown that introduces the feature. Undefined: its description in the OpenAPI document does
 */
export function referencePage({ tag, description, listed }: Tagged, { paths, components }: OpenapiParts, about?: MarkdownPage): DocsPage {
  const name = about?.title ?? tag[0]!.toUpperCase() + tag.slice(1);
  const [first] = listed;
  return {
    path: referencePath(tag),
    name,
    about: about?.about ?? description,
    contents: [
      {
        heading: '',
        links: listed.map(({ method, path, operation }) => ({
          id: operation.operationId,
          text: shortened(path, paths),
          label: methodMark(method),
        })),
      },
    ],
    main: html`<section class="introduction" aria-labelledby="title">
        <div class="about guide">
          <h1 id="title">${name}</h1>
          ${about?.body ?? paragraphs(description)}
          <p class="hint scripted">
            Each call below has a form that sends a real request to this service, for the session of this browser or the installId in the
            form.
          </p>
        </div>
        <div class="stack beside">
          ${about !== undefined && about.samples.length > 0 ? about.samples : first === undefined ? '' : codeBlock('curl', curlOf(first.operation))}
        </div>
      </section>
      ${listed.map((operation) => section(operation, components))}`,
  };
}

export function methodMark(method: string): Html {
  return html`<b class="method ${method.toLowerCase()}">${method}</b> `;
}

/** The path in the form for the table of contents, without /v1, because nearly all paths begin with /v1 and the column is narrow. */
function shortened(path: string, paths: OpenapiParts['paths']): string {
  const short = path.replace(/^\/v1(?=\/)/, '').replace(/^\/sandbox\/.*(?=\/[^/]+\/[^/]+$)/, '…');
  return short !== path && short in paths ? path : short;
}

/** The curl command of an operation. If the command is long, each option is on a line of its own. */
function curlOf(operation: Operation): string {
  const [{ source }] = operation['x-codeSamples'];
  return source.length <= 52 ? source : source.replace(/ (?=-[Hdb] ')/g, ' \\\n  ').replaceAll('; curl', ';\ncurl');
}

function section({ method, path, operation }: Listed, components: OpenapiParts['components']): Html {
  const { operationId: id, summary, description = '', parameters = [], requestBody, responses } = operation;
  const [mediaType, body] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const [replyType = '', reply] = Object.entries(responses[200]!.content!)[0]!;
  const isJson = reply?.example !== undefined;
  return html`<article class="operation" id="${id}" aria-labelledby="${id}-title">
    <div class="about">
      <h2 id="${id}-title"><a href="#${id}">${prose(summary)}</a></h2>
      <p class="address">${methodMark(method)}<code>${breakable(path)}</code></p>
      ${paragraphs(description)} ${caller(operation)}
      ${(['path', 'query', 'header'] as const).map((place) => parameterList(place, parameters, components.schemas))}
      ${
        body === undefined
          ? ''
          : html`<h3>Body${requestBody!.required ? '' : ' (optional)'}, <code class="hint">${mediaType!}</code></h3>
              ${fieldList(body.schema, components.schemas)}`
      }
      <h3>Reply, <code class="hint">${replyType}</code></h3>
      ${isJson ? fieldList(reply.schema, components.schemas) : ''} ${errorLine(responses, components)}
    </div>
    <div class="stack beside">
      ${codeBlock('curl', curlOf(operation))} ${isJson ? codeBlock('200', json(reply.example)) : ''}
      ${form({ method, path, operation }, components.schemas)}
    </div>
  </article> `;
}

function caller({ security }: Operation): Html {
  if (!security.some((scheme) => 'session' in scheme)) return html``;
  const needed = !security.some((scheme) => Object.keys(scheme).length === 0);
  return html`<p class="hint">${needed ? 'Needs a session' : 'Takes a session'}: the cookie, or <code>Authorization: Bearer</code>.</p>`;
}

const HEADINGS = { path: 'Path', query: 'Query', header: 'Headers' } as const;

function parameterList(place: Parameter['in'], parameters: readonly Parameter[], components: Components): Html {
  const here = parameters.filter((parameter) => parameter.in === place);
  if (here.length === 0) return html``;
  return html`<h3>${HEADINGS[place]}</h3>
    <ul class="fields">
      ${here.map(({ name, schema, description, required }) =>
        fieldItem(name, description === undefined ? schema : { ...schema, description }, required ? 'required' : '', components),
      )}
    </ul> `;
}

/** The error codes of an operation by status, each a link to its advice. */
function errorLine(responses: Operation['responses'], components: OpenapiParts['components']): Html {
  const rows = Object.entries(responses).flatMap(([status, { $ref: reference }]) => {
    if (reference === undefined) return [];
    const { content } = components.responses[reference.split('/').at(-1)!] as { content: Content };
    return [[status, Object.keys(content['application/json']!.examples!)] as const];
  });
  return html`<h3>Errors</h3>
    <ul class="codes">
      ${rows.map(
        ([status, codes]) =>
          html`<li>
            <span class="hint">${status}</span>
            ${codes.map((code) => html`${errorLink(code)} `)}
          </li> `,
      )}
    </ul>`;
}

/** The form that sends a request to the operation. The page's script fills in the caller, and sends the request. */
function form({ method, path, operation }: Listed, components: Components): Html {
  const { operationId: id, parameters = [], requestBody, security } = operation;
  const [mediaType, body] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const inputs = [
    // The headers of a conditional request are left out, because the answer might be empty.
    ...parameters.filter(({ name }) => name !== 'if-none-match'),
    ...(security.length === 0 ? [] : [{ name: 'authorization', in: 'header', required: false, schema: {} } as const]),
  ];
  return html`<details class="try scripted">
    <summary>Try it<span class="hidden">: ${method} ${path}</span></summary>
    <form class="stack" data-method="${method}" data-path="${path}" ${mediaType === undefined ? '' : html` data-type="${mediaType}"`}>
      ${inputs.map(({ name, in: place, required, schema }) => {
        const { example = '' } = resolved(schema, components) as { example?: unknown };
        return html`<label
          ><span class="apart"><code>${name}</code> <span class="hint">${required ? 'required' : place}</span></span
          ><input
            id="${id}-${name}"
            name="${name}"
            data-in="${place}"
            value="${place === 'path' ? String(example) : ''}"
            autocomplete="off"
            spellcheck="false"
            ${required ? html` required` : ''}${name === 'authorization' ? html` placeholder="Bearer …"` : ''}
        /></label> `;
      })}${
        body === undefined
          ? ''
          : html`<label
              ><span class="apart">Body <span class="hint">${mediaType!}</span></span
              ><textarea
                id="${id}-body"
                name="body"
                rows="${lineCount(bodyExample(body.schema, parameters, components))}"
                spellcheck="false"
              >
${bodyExample(body.schema, parameters, components)}</textarea>
            </label> `
      }
      <p>
        <button type="submit" class="primary">Send<span class="hidden">: ${method} ${path}</span></button>
      </p>
      <div class="answer stack" role="status"></div>
    </form>
  </details> `;
}

/**
 * An example of the body, as JSON. The installId is left out if the form has it as a header. The accountId is left out because only servers
 * send it.
 */
function bodyExample(schema: Schema, parameters: readonly Parameter[], components: Components): string {
  const example = { ...(exampleOf(schema, components) as Record<string, unknown>) };
  if (parameters.some(({ name }) => name === 'x-install-id')) delete example['installId'];
  delete example['accountId'];
  return JSON.stringify(example, null, 2);
}

function lineCount(text: string): number {
  return Math.min(12, Math.max(2, text.split('\n').length));
}
