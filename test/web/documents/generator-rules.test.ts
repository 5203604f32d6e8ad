import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { forFile, start } from '../../harness.ts';
import { OpenapiDocument } from './openapi-document.ts';

/**
 * Rules that the generated clients of openapi-generator need to compile and work: `npm run prove:openapi` generates, compiles and
 * calls them. Here the rules are checked for each endpoint, also for operators.
 */

const service = await forFile(start({ settings: { ADMIN_API: 'on', STORE: 'sandbox' } }));
const openapi = new OpenapiDocument((await service.get('/openapi.json')).body);
const { schemas: components, responses } = openapi.all.components;

// The document is read without types, as a client reads it.
// oxlint-disable-next-line no-explicit-any
type Any = any;

/** All schemas of the document, at every depth, with the path to each. */
const schemas: [path: string, schema: Any][] = [];
function look(value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null) return;
  if (!path.endsWith('/properties')) schemas.push([path, value]);
  for (const [key, below] of Object.entries(value)) if (!/^examples?$/.test(key)) look(below, `${path}/${key}`);
}
look(components, 'schemas');
look(openapi.all.paths, 'paths');
look(responses, 'responses');

function hasTwins({ properties = {} }: Any): boolean {
  const camelCased = (name: string): string => name.replace(/[_-]+(\w)/g, (_, letter: string) => letter.toUpperCase()).toLowerCase();
  return new Set(Object.keys(properties).map(camelCased)).size < Object.keys(properties).length;
}

const MOST_INT32 = 2 ** 31 - 1;
const lacksBits = ({ type, minimum = -Infinity, maximum = Infinity, format }: Any): boolean =>
  type === 'integer' && (minimum < -MOST_INT32 || maximum > MOST_INT32) !== (format === 'int64');

describe('every client that openapi-generator makes of the document', () => {
  test.each<[rule: string, breaks: (schema: Any, path: string) => boolean]>([
    [
      'boolean with an enum: it becomes an enum of `true`, which does not compile',
      ({ type, enum: values }) => type === 'boolean' && values,
    ],
    [
      'allOf, anyOf or oneOf: it uses only the first part of an allOf, and for the others it names classes that it does not generate',
      (schema) => ['allOf', 'anyOf', 'oneOf'].some((word) => word in schema),
    ],
    ['two properties with one name in camel case', hasTwins],
    ['number with a fraction but scores', ({ type }, path) => type === 'number' && !/\/(score|best)$/.test(path)],
    ['integer of 32 bits that needs 64', lacksBits],
    ['pattern with a backslash before a slash: Ruby would have two', ({ pattern }) => String(pattern).includes('\\/')],
    ['pattern beside a format: C# would match it with a date or a Guid, which does not compile', (s) => 'format' in s && 'pattern' in s],
  ])('gets no %s', (_, breaks) => {
    expect(schemas.length).toBeGreaterThan(1000);
    expect(schemas.filter(([path, schema]) => breaks(schema, path)).map(([path]) => path)).toEqual([]);
  });

  test('gets no type that is named by a number or its place, or hides a global of JavaScript or of a browser', () => {
    const library = new URL('../../../node_modules/@typescript/typescript-linux-x64/lib/lib.dom.d.ts', import.meta.url);
    const ofBrowsers = [...readFileSync(library, 'utf8').matchAll(/^(?:interface|declare var|type) (\w+)/gm)].map(([, name]) => name!);
    const globals = new Set([...Object.getOwnPropertyNames(globalThis), ...ofBrowsers, 'Record', 'Partial', 'Pick', 'Omit', 'Exclude']);
    for (const name of ['Error', 'Map', 'Node', 'Selection']) expect(globals.has(name)).toBe(true);
    expect(Object.keys(components).filter((name) => globals.has(name) || /\d$|^Nested/.test(name))).toEqual([]);
  });

  test('gets a name for the body of every request, every reply and every refusal', () => {
    const named = { $ref: expect.stringMatching(/^#\/components\/schemas\/[A-Z]\w+$/) };
    for (const { name, operation } of openapi.operations) {
      const answers = Object.keys(operation.responses).map((status) => openapi.response(operation, status).content);
      for (const content of [operation.requestBody?.content, ...answers]) {
        for (const [mediaType, { schema }] of Object.entries<Any>(content ?? {}))
          if (/json/.test(mediaType)) expect([name, schema]).toEqual([name, named]);
      }
    }
  });

  test('gets the error codes of each status in one plain enum, and all codes in one type', () => {
    expect(components.InsufficientCoinsDetails.properties.code).toEqual({ type: 'string', enum: ['insufficient_coins'] });
    expect(openapi.resolved(openapi.resolved(components.AnyRefusal.properties.error).properties.code)).toEqual(components.ErrorCode);
    for (const { name, operation } of openapi.operations)
      expect([name, operation.responses.default]).toEqual([name, { $ref: '#/components/responses/AnyRefusal' }]);
  });

  test('gets a type for every optional field of a body, because it sends null for an unset field of any type', () => {
    const optional = openapi.operations
      .filter(({ operation }) => operation.requestBody !== undefined)
      .flatMap(({ name, operation }) => {
        const { properties, required = [] } = openapi.body(operation);
        return Object.entries<Any>(properties)
          .filter(([field]) => !required.includes(field))
          .map(([field, schema]) => ({ at: `${name} ${field}`, type: openapi.resolved(schema).type }));
      });
    expect(optional).toContainEqual({ at: 'POST /v1/rooms/{code}/state merge', type: 'object' });
    expect(optional.filter(({ type }) => type === undefined)).toEqual([]);
  });

  test('gets no part of the sandbox', () => {
    const names = [...Object.keys(openapi.all.paths), ...Object.keys(components), ...openapi.all.tags.map(({ name }: Any) => name)];
    expect(names.filter((name) => /^\/?sandbox/i.test(name))).toEqual([]);
  });
});
