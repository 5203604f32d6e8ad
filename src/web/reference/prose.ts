import { errors } from '../../errors.ts';
import { html, type Html } from '../html.ts';

/** A description as HTML, with its paragraphs and lines. Lines that begin with `- ` become a list; backquotes mark code. */
export function paragraphs(text: string): Html[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const lines = block.split('\n');
      const plain = lines.filter((line) => !line.startsWith('- '));
      const items = lines.filter((line) => line.startsWith('- '));
      return html`${plain.length === 0 ? '' : html`<p>${prose(plain.join(' '))}</p>`}${
        items.length === 0
          ? ''
          : html`<ul>
              ${items.map((item) => html`<li>${prose(item.slice(2))}</li>`)}
            </ul>`
      } `;
    });
}

/** Text as HTML. Backquotes mark code, and an error code becomes a link to its advice. */
export function prose(text: string): Html[] {
  return text.split(/`([^`]+)`/).map((part, index) => {
    return index % 2 === 0 ? html`${part}` : linkedCode(part);
  });
}

/** Code in a sentence. An error code becomes a link to its advice. A path that a person can open becomes a link to that path. */
export function linkedCode(code: string): Html {
  if (Object.hasOwn(errors, code)) return errorLink(code);
  return PAGES.test(code) ? html`<a href="${code}"><code>${code}</code></a>` : html`<code>${code}</code>`;
}

/** Matches the paths of the service that a person can open in a browser. */
const PAGES = /^\/(docs(\/(channels|errors))?|openapi\.json|asyncapi\.json|client\.js)$/;

export function errorLink(code: string): Html {
  return html`<a href="/docs/errors#${code}"><code>${code}</code></a>`;
}

/** A path as HTML that may break after its slashes. */
export function breakable(path: string): Html[] {
  return path.split(/(?<=\/)/).map((part) => html`${part}${part.endsWith('/') ? html`<wbr />` : ''}`);
}

/** A value as indented JSON, in which the names of fields are marked. */
export function json(value: unknown): Html[] {
  return JSON.stringify(value, null, 2)
    .split(/("(?:[^"\\]|\\.)*")(?=: )/)
    .map((part, index) => (index % 2 === 0 ? html`${part}` : html`<b>${part}</b>`));
}

/** A block of code, with a button that copies it. */
export function codeBlock(title: string, code: Html | readonly Html[] | string): Html {
  return html`<figure class="sample">
    <figcaption class="label apart">
      ${title}<button type="button" class="copy scripted" aria-label="Copy: ${title}">Copy</button>
    </figcaption>
    <pre tabindex="0" role="group" aria-label="${title}"><code>${code}</code></pre>
  </figure> `;
}
