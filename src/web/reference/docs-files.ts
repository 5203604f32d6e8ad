import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

/** A file of the repository that the pages below /docs show. */
export interface DocsFile {
  /** `docs/client.md`. */
  readonly file: string;
  /** The path in the service: `/docs/client`. A file that is no Markdown is served as it is, as plain text. */
  readonly path: string;
  readonly text: string;
}

const root = new URL('../../../', import.meta.url);

/** The folders whose files are shown. Pictures and decisions are left out, because they are for readers of the repository. */
const FOLDERS = [
  ['docs', /\.md$/],
  ['docs/clients', /\.md$/],
  ['docs/features', /\.md$/],
  ['docs/operations', /./],
  ['docs/examples', /./],
] as const;

/** The files that the pages show. A copy of the service without the folder `docs` has no such files. */
export function docsFiles(): DocsFile[] {
  const inFolders = FOLDERS.flatMap(([folder, pattern]) =>
    existsSync(new URL(folder, root))
      ? readdirSync(new URL(folder, root))
          .filter((name) => pattern.test(name))
          .map((name) => `${folder}/${name}`)
      : [],
  );
  return [...(existsSync(new URL('README.md', root)) ? ['README.md'] : []), ...inFolders].map((file) => ({
    file,
    path: pathOf(file),
    text: readFileSync(new URL(file, root), 'utf8'),
  }));
}

/** The path at which the service shows a file. A feature's page is the page of its calls. */
function pathOf(file: string): string {
  if (file === 'README.md') return '/docs/readme';
  return `/${file.replace(/^docs\/features\//, 'docs/reference/').replace(/\.md$/, '')}`;
}

/**
 * Returns the address to which each link in a file leads on the pages. Undefined for files that the service does not show; an address on
 * the web stays as it is.
 */
export function addressesFrom(file: string, files: readonly DocsFile[], ending: '' | '.md'): (target: string) => string | undefined {
  const shown = new Map(files.map((each) => [each.file, each]));
  return (target) => {
    if (/^https?:\/\//.test(target)) return target;
    const [name = '', anchor] = target.split('#');
    const found = name === '' ? shown.get(file) : shown.get(posix.join(posix.dirname(file), name));
    if (found === undefined) return undefined;
    const path = found.file.endsWith('.md') ? found.path + ending : found.path;
    return anchor === undefined ? path : name === '' && ending === '' ? `#${anchor}` : `${path}#${anchor}`;
  };
}

/** The Markdown of a file, whose links lead to the Markdown of the service's other pages. */
export function markdownOf({ file, text }: DocsFile, files: readonly DocsFile[]): string {
  const addressOf = addressesFrom(file, files, '.md');
  const linked = (prose: string): string =>
    prose.replaceAll(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (_, image: string, label: string, target: string) => {
      const address = image === '' ? addressOf(target) : undefined;
      return address === undefined ? label : `[${label}](${address})`;
    });
  // Samples stay as they are: `calls[name](value)` is no link.
  return text
    .split(/(^ *```[\s\S]*?^ *```$)/m)
    .map((part, at) => (at % 2 === 0 ? linked(part) : part))
    .join('');
}
