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
  /** The module is loaded when a call asks for it, and not with the file that names it. */
  readonly isLazy?: true;
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
    // A module that is loaded only where the settings ask for it.
    const loaded = [...text.matchAll(/\bimport\('(\.[^']+)'\)/g)].map(([, path = '']) => ({
      ...{ from, to: placeOf(from, path), isType: false, isLazy: true as const },
    }));
    return [...modules, ...resources, ...loaded].filter(({ to }) => !to.startsWith('..'));
  });
}

const files = filesOf(src);
const imports = importsOf(src);

/**
 * The module of a file: its feature's folder, its part of apart/, the operator's tool in a terminal, its folder below src, or the file
 * itself when it lies directly in src.
 */
const moduleOf = (file: string): string => /^features\/[^/]+|^apart\/[^/]+|^operator\/terminal|^[^/]+/.exec(file)![0];

/** Modules from the outside to the inside. A module imports later ones only; types may be imported in both directions. */
const order = [
  'main.ts',
  'commands',
  'apart/doctor',
  'apart/backup',
  'operator/terminal',
  'process',
  'service.ts',
  'serving',
  'apart/doors.ts',
  'apart/sandbox',
  'apart/playground',
  'setting-checks.ts',
  'api.ts',
  'auditors.ts',
  'upgrades.ts',
  'clients',
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
const isOfClient = (file: string): boolean => moduleOf(file) === 'clients';

/** Rules of a feature that other features use too. */
const shared = ['features/purchases/subscription/subscription-state.ts'];

/** What opens each part of apart/. */
const opensDoor: Readonly<Record<string, RegExp>> = {
  'apart/doors.ts': /^service\.ts$/,
  'apart/sandbox/door.ts': /^apart\/doors\.ts$/,
  'apart/playground/door.ts': /^apart\/doors\.ts$/,
  'apart/doctor/door.ts': /^commands\/doctor\.ts$/,
  'apart/backup/door.ts': /^commands\/(backup|restore)\.ts$/,
};

test.each<[rule: string, isBroken: (each: Import) => boolean]>([
  ['a module imports values only from modules further inside', ({ from, to, isType }) => !isType && depthOf(to) < depthOf(from)],
  [
    'server and redis import nothing from features, not even types',
    ({ from, to }) => /^(server|redis)\//.test(from) && depthOf(to) <= order.indexOf('declare.ts'),
  ],
  [
    'a feature imports only model.ts of another feature, and what it shares by name',
    ({ from, to }) =>
      isOfFeature(from) && isOfFeature(to) && moduleOf(from) !== moduleOf(to) && !to.endsWith('/model.ts') && !shared.includes(to),
  ],
  [
    'each part of apart/ has one door, which only its command opens, or the service where its settings ask for it',
    ({ from, to, isType }) => !isType && to.startsWith('apart/') && moduleOf(from) !== moduleOf(to) && opensDoor[to]?.test(from) !== true,
  ],
  ['the service loads parts of apart/ lazily', ({ from, isType, isLazy }) => from === 'apart/doors.ts' && !isType && isLazy !== true],
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

test('a module of the pages imports from the browser folders and the client only, because it runs in browsers', () => {
  const isOfPages = (file: string): boolean => /^((web|operator\/page|apart\/playground)\/browser|operator\/shown)\//.test(file);
  // What a reply shows is drawn by the tool too.
  const isShown = (file: string): boolean => file.startsWith('operator/shown/');
  const inBrowsers = files.filter(isOfPages);
  expect(inBrowsers.length).toBeGreaterThan(8);
  // The place of a folder is no import of its modules.
  const crossing = imports.filter(
    ({ from, to, isType }) =>
      !isType && to.endsWith('.ts') && (isShown(from) ? !isShown(to) : isOfPages(from) !== isOfPages(to) && !isShown(to)),
  );
  expect(crossing).toEqual([]);
  const names = inBrowsers.map((file) => file.replace(/.*\//, ''));
  expect(
    names.filter((name, index) => names.indexOf(name) !== index),
    'browsers get all of them from one folder',
  ).toEqual([]);
  for (const file of inBrowsers)
    for (const [, name] of readFileSync(join(src, file), 'utf8').matchAll(/^import (?!type )[^;]*?\bfrom '([^.'][^']*)'/gm))
      expect([file, name]).toEqual([file, expect.stringMatching(/^\/(client|rooms|saves)\.js$/)]);
});
