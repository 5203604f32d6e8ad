import { Marked, type RendererObject, type Token, type Tokens } from 'marked';
import { Html, html } from '../html.ts';
import { codeBlock, linkedCode } from './prose.ts';

/** A page that was written in Markdown. */
export interface MarkdownPage {
  readonly title: string;
  /** The first sentence, as plain text. */
  readonly about: string;
  /** The text below the title, without the samples in `samples`. */
  readonly body: Html;
  /** The samples that stand before the first heading, if the caller asked for them separately. */
  readonly samples: readonly Html[];
  readonly headings: readonly Heading[];
}

interface Heading {
  readonly id: string;
  /** 2 for the headings below the title. */
  readonly depth: number;
  readonly text: string;
}

/**
 * A page of Markdown (GitHub's dialect) as HTML. All text is escaped: HTML in the Markdown is shown as text, and comments are left out.
 * Images are left out too.
 * @param addressOf the address to which a link of the page leads. Undefined: the text of the link stands alone
 * @param samplesApart whether the samples in front of the first heading are given apart from the body
 */
export function pageOf(markdown: string, addressOf: (target: string) => string | undefined, samplesApart = false): MarkdownPage {
  const headings: Heading[] = [];
  const marked = new Marked({ renderer: rendererOf(addressOf, headings) });
  const [title, ...tokens] = marked.lexer(markdown);
  if (title?.type !== 'heading') throw new Error('A page of Markdown begins with its title');
  const end = tokens.findIndex(({ type }) => type === 'heading');
  const isApart = (token: Token, at: number): boolean => samplesApart && token.type === 'code' && (end === -1 || at < end);
  const written = (some: Token[]): Html => new Html(marked.parser(some));
  const first = tokens.find(({ type }) => type === 'paragraph');
  return {
    title: plain((title as Tokens.Heading).text),
    about: /^.*?[.!?](?=\s|$)/s.exec(plain((first as Tokens.Paragraph | undefined)?.text ?? ''))?.[0].replaceAll('\n', ' ') ?? '',
    body: written(tokens.filter((token, at) => !isApart(token, at))),
    samples: tokens.filter(isApart).map((token) => written([token])),
    headings,
  };
}

/** The id of a heading, as GitHub makes it, so that links between the files lead to the same places here. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** The text without the marks of links, code and emphasis. */
function plain(markdown: string): string {
  return markdown.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/`|\*\*/g, '');
}

const LANGUAGES: Readonly<Record<string, string>> = {
  sh: 'Shell',
  js: 'JavaScript',
  jsx: 'JSX',
  ts: 'TypeScript',
  html: 'HTML',
  json: 'JSON',
  python: 'Python',
  csharp: 'C#',
  gdscript: 'GDScript',
};

function rendererOf(addressOf: (target: string) => string | undefined, headings: Heading[]): RendererObject {
  /** Whether the text that is being written is in a link, which must not contain another link. */
  let isInLink = false;
  const linkText = (write: () => string): Html => {
    const before = isInLink;
    isInLink = true;
    const text = new Html(write());
    isInLink = before;
    return text;
  };
  return {
    heading({ tokens, depth, text }) {
      const id = anchorOf(text);
      headings.push({ id, depth, text: plain(text) });
      const link = html`<a href="#${id}">${linkText(() => this.parser.parseInline(tokens))}</a>`;
      return html`<${new Html(`h${depth}`)} id="${id}">${link}</${new Html(`h${depth}`)}>`.text;
    },
    link({ href, tokens }) {
      const address = isInLink ? undefined : addressOf(href);
      const text = linkText(() => this.parser.parseInline(tokens));
      return address === undefined ? text.text : html`<a href="${address}">${text}</a>`.text;
    },
    image: () => '',
    html: ({ text }) => (text.startsWith('<!--') ? '' : html`${text}`.text),
    code: ({ text, lang = '' }) => codeBlock(LANGUAGES[lang] ?? 'Text', text).text,
    codespan: ({ text }) => (isInLink ? html`<code>${text}</code>` : linkedCode(text)).text,
    table({ header, rows }) {
      const labels = header.map(({ text }) => plain(text));
      // On narrow screens each row is a block, and each cell shows its column's heading. Only the roles then tell assistive software that
      // it is a table.
      return html`<div class="sideways" tabindex="0" role="group" aria-label="Table: ${labels.filter(Boolean).join(', ')}">
        <table role="table">
          <thead role="rowgroup">
            <tr role="row">
              ${header.map(({ tokens }) =>
                tokens.length === 0
                  ? html`<td role="cell"></td>`
                  : html`<th scope="col" role="columnheader">${new Html(this.parser.parseInline(tokens))}</th>`,
              )}
            </tr>
          </thead>
          <tbody role="rowgroup">
            ${rows.map(
              (cells) =>
                html`<tr role="row">
                  ${cells.map(({ tokens }, at) => html`<td role="cell" data-label="${labels[at]!}">${new Html(this.parser.parseInline(tokens))}</td>`)}
                </tr> `,
            )}
          </tbody>
        </table>
      </div> `.text;
    },
  };
}
