import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const src = fileURLToPath(new URL('../src', import.meta.url));

interface Import {
  readonly from: string;
  readonly to: string;
  /** The import holds types only, so that it disappears at run time. */
  readonly isType: boolean;
}

const filesOf = (root: string): string[] =>
  (readdirSync(root, { recursive: true }) as string[]).filter((file) => file.endsWith('.ts') && !file.includes('node_modules'));

/** The imports of the files below a folder, including resources that are loaded by URL. */
function importsOf(root: string): Import[] {
  const placeOf = (from: string, path: string): string => relative(root, join(root, dirname(from), path));
  return filesOf(root).flatMap((from) => {
    const text = readFileSync(join(root, from), 'utf8');
    const modules = [...text.matchAll(/^(?:import|export) (type )?([^;']*?) ?from '(\.[^']+)';$/gms)].map(
      ([, type, names = '', path = '']) => ({
        from,
        to: placeOf(from, path),
        isType: type !== undefined || (names.startsWith('{') && names.split(',').every((name) => /^[{\s]*(type |\}?$)/.test(name))),
      }),
    );
    // A script, a style sheet, the code of a worker, or a command that a child runs.
    const resources = [...text.matchAll(/\bnew URL\(\s*['`]([^'`$]+)['`],\s*import\.meta\.url\)/g)].map(([, path = '']) => ({
      from,
      to: placeOf(from, path),
      isType: false,
    }));
    return [...modules, ...resources].filter(({ to }) => !to.startsWith('..'));
  });
}

const files = filesOf(src);
const imports = importsOf(src);

/**
 * The module of a file: its feature's folder, the operator's tool in a terminal, its folder below src, or the file itself when it lies
 * directly in src.
 */
const moduleOf = (file: string): string => /^features\/[^/]+|^operator\/terminal|^[^/]+/.exec(file)![0];

/** Modules from the outside to the inside. A module imports later ones only; types may be imported in both directions. */
const order = [
  'main.ts',
  'commands',
  'operator/terminal',
  'process',
  'service.ts',
  'serving',
  'setting-checks.ts',
  'api.ts',
  'auditors.ts',
  'upgrades.ts',
  'client',
  'operator',
  'holdings.ts',
  'features',
  'stores',
  'web',
  'declare.ts',
  'server',
  'journal',
  'accounts',
  'consistency',
  'redis',
  'config.ts',
  'errors.ts',
];

const depthOf = (file: string): number => order.indexOf(moduleOf(file).startsWith('features/') ? 'features' : moduleOf(file));

test('every file of src belongs to a module with a place in the order', () => {
  expect(files.filter((file) => depthOf(file) < 0)).toEqual([]);
  expect(imports.length).toBeGreaterThan(300);
});

const isOfFeature = (file: string): boolean => file.startsWith('features/');
const isOfClient = (file: string): boolean => moduleOf(file) === 'client';

test.each<[rule: string, isBroken: (each: Import) => boolean]>([
  ['a module imports values only from modules further inside', ({ from, to, isType }) => !isType && depthOf(to) < depthOf(from)],
  [
    'server and redis import nothing from features, not even types',
    ({ from, to }) => /^(server|redis)\//.test(from) && depthOf(to) <= order.indexOf('declare.ts'),
  ],
  [
    'a feature imports only model.ts of another feature',
    ({ from, to }) => isOfFeature(from) && isOfFeature(to) && moduleOf(from) !== moduleOf(to) && !to.endsWith('/model.ts'),
  ],
  // It runs in browsers.
  ['the client imports nothing but types from the rest', ({ from, to, isType }) => !isType && isOfClient(from) && !isOfClient(to)],
  ['the rest imports nothing from the client', ({ from, to }) => !isOfClient(from) && isOfClient(to)],
])('%s', (_, isBroken) => {
  expect(imports.filter(isBroken).map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

test('a path of a file comes from fileURLToPath, because the pathname of a URL has %20 where the folder has a space', () => {
  const found = ['src', 'test', 'bench'].flatMap((folder) => {
    const root = join(src, '..', folder);
    return filesOf(root).filter((file) => /import\.meta\.url\)\.pathname/.test(readFileSync(join(root, file), 'utf8')));
  });
  expect(found).toEqual([]);
});

test.each([
  ['files of src, with the imports of types,', imports, (file: string) => file, true],
  ['modules of src, without the imports of types,', imports, moduleOf, false],
  ['files of bench, with the imports of types,', importsOf(join(src, '../bench')), (file: string) => file, true],
])('%s have no import cycle', (_, edges, placeOf, withTypes) => {
  expect(edges.length).toBeGreaterThan(100);
  const next = new Map<string, Set<string>>();
  for (const { from, to, isType } of edges) {
    const [here, there] = [placeOf(from), placeOf(to)];
    if ((withTypes || !isType) && here !== there) next.set(here, (next.get(here) ?? new Set()).add(there));
  }
  const cycles: string[] = [];
  const done = new Set<string>();
  const walk = (place: string, path: readonly string[]): void => {
    if (path.includes(place)) cycles.push([...path.slice(path.indexOf(place)), place].join(' → '));
    else if (!done.has(place)) for (const there of next.get(place) ?? []) walk(there, [...path, place]);
    done.add(place);
  };
  for (const place of next.keys()) walk(place, []);
  expect(cycles).toEqual([]);
});

test('a module of the pages imports from browser/ and the client only, because it runs in browsers', () => {
  const folder = 'web/browser/';
  const inBrowsers = files.filter((file) => file.startsWith(folder));
  expect(inBrowsers.length).toBeGreaterThan(8);
  expect(imports.filter(({ from, to }) => from.startsWith(folder) !== to.startsWith(folder))).toEqual([]);
  for (const file of inBrowsers)
    for (const [, name] of readFileSync(join(src, file), 'utf8').matchAll(/\bfrom '([^.'][^']*)'/g))
      expect([file, name]).toEqual([file, expect.stringMatching(/^\/(client|rooms)\.js$/)]);
});
