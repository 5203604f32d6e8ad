import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const src = new URL('../src', import.meta.url).pathname;

interface Import {
  readonly from: string;
  readonly to: string;
  /** Nothing of it is left when the types are gone. */
  readonly isType: boolean;
}

const files = (readdirSync(src, { recursive: true }) as string[]).filter((file) => file.endsWith('.ts'));

const imports: Import[] = files.flatMap((from) => {
  const text = readFileSync(join(src, from), 'utf8');
  return [...text.matchAll(/^(?:import|export) (type )?([^;']*?) ?from '(\.[^']+)';$/gms)].map(([, type, names = '', path = '']) => ({
    from,
    to: relative(src, join(src, dirname(from), path)),
    isType: type !== undefined || (names.startsWith('{') && names.split(',').every((name) => /^[{\s]*(type |\}?$)/.test(name))),
  }));
});

/** A feature, one of the folders below src, or a file that lies there. */
const roomOf = (file: string): string => /^features\/[^/]+|^[^/]+/.exec(file)![0];

/** Rooms from the door inwards: each imports what stands after it, and never what stands before, but for types. */
const order = [
  'main.ts',
  'process',
  'service.ts',
  'setting-checks.ts',
  'api.ts',
  'features',
  'docs',
  'declare.ts',
  'google',
  'server',
  'accounts',
  'redis',
  'config.ts',
  'errors.ts',
];

const depthOf = (file: string): number => order.indexOf(roomOf(file).startsWith('features/') ? 'features' : roomOf(file));

const named = ({ from, to }: Import): string => `${from} imports ${to}`;

test('every file stands in a room that has its place', () => {
  expect(files.filter((file) => depthOf(file) < 0)).toEqual([]);
  expect(imports.length).toBeGreaterThan(300);
});

test('imports go inwards', () => {
  expect(imports.filter(({ from, to, isType }) => !isType && depthOf(to) < depthOf(from)).map(named)).toEqual([]);
});

test('server and redis name no feature, not even for a type', () => {
  const isOuter = (file: string): boolean => depthOf(file) <= order.indexOf('declare.ts');
  expect(imports.filter(({ from, to }) => /^(server|redis)\//.test(from) && isOuter(to)).map(named)).toEqual([]);
});

test("a feature imports another's model at most", () => {
  const betweenFeatures = imports.filter(
    ({ from, to }) => [from, to].every((file) => file.startsWith('features/')) && roomOf(from) !== roomOf(to),
  );
  expect(betweenFeatures.filter(({ to }) => !to.endsWith('/model.ts')).map(named)).toEqual([]);
});

test.each([
  ['files', (file: string) => file],
  ['rooms', roomOf],
])('%s import each other in no circle', (_, placeOf) => {
  const next = new Map<string, Set<string>>();
  for (const { from, to, isType } of imports) {
    const [here, there] = [placeOf(from), placeOf(to)];
    if (!isType && here !== there) next.set(here, (next.get(here) ?? new Set()).add(there));
  }
  const circles: string[] = [];
  const done = new Set<string>();
  const walk = (place: string, path: readonly string[]): void => {
    if (path.includes(place)) circles.push([...path.slice(path.indexOf(place)), place].join(' → '));
    else if (!done.has(place)) for (const there of next.get(place) ?? []) walk(there, [...path, place]);
    done.add(place);
  };
  for (const place of next.keys()) walk(place, []);
  expect(circles).toEqual([]);
});
