import type { DocsPage } from './docs-layout.ts';

/** A section of a page, in the form that the search needs. */
export interface Found {
  readonly href: string;
  readonly title: string;
  /** The name of the page. */
  readonly page: string;
  /** All text of the section, without tags. */
  readonly text: string;
}

/** The sections of all pages, with their text: from a link of the page's contents to the next one. */
export function searchIndex(pages: readonly DocsPage[]): Found[] {
  return pages.flatMap(({ path, name, contents, sections = contents.flatMap(({ links }) => links), main }) => {
    const links = [{ id: '', text: name }, ...sections];
    const starts = links.map(({ id }) => (id === '' ? 0 : main.text.indexOf(` id="${id}"`)));
    return links.map(({ id, text }, at) => ({
      href: id === '' ? path : `${path}#${id}`,
      title: text,
      page: name,
      text: textOf(main.text.slice(starts[at], starts[at + 1])),
    }));
  });
}

/** The text of a piece of HTML, without its forms. Such a piece may begin and end anywhere, even within a tag. */
function textOf(piece: string): string {
  return piece
    .replace(/^[^<>]*>/, '')
    .replace(/<[^>]*$/, '')
    .replaceAll(/<form[\s\S]*?<\/form>/g, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replaceAll(/&(amp|lt|gt|quot);/g, (_, name: 'amp' | 'lt' | 'gt' | 'quot') => ({ amp: '&', lt: '<', gt: '>', quot: '"' })[name])
    .replaceAll(/\s+/g, ' ')
    .trim();
}
