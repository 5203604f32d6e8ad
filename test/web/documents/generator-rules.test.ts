import { describe, expect, test } from 'vitest';
import { forFile, start } from '../../harness.ts';
import { OpenapiDocument } from './openapi-document.ts';

/**
 * Rules that the generated clients of openapi-generator need to compile and work: `npm run prove:openapi` generates, compiles and
 * calls them. Here the rules are checked for each endpoint, also for operators.
 */

const service = await forFile(start({ settings: { ADMIN_API: 'on', STORE: 'sandbox' } }));
const openapi = new OpenapiDocument((await service.get('/openapi.json')).body);

// The document is read without types, as a client reads it.
// oxlint-disable-next-line no-explicit-any
type Any = any;

/** All schemas of the document, at every depth, with the path to each. */
function schemas(): [path: string, schema: Any][] {
  const found: [string, Any][] = [];
  const look = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    if (!path.endsWith('/properties')) found.push([path, value]);
    for (const [key, below] of Object.entries(value)) if (!/^examples?$/.test(key)) look(below, `${path}/${key}`);
  };
  look(openapi.all.components.schemas, 'schemas');
  look(openapi.all.paths, 'paths');
  look(openapi.all.components.responses, 'responses');
  return found;
}

/** The schemas that break a rule. */
const against = (rule: (schema: Any, path: string) => boolean): string[] =>
  schemas()
    .filter(([path, schema]) => rule(schema, path))
    .map(([path]) => path);

describe('every client that openapi-generator makes of the document', () => {
  test('gets no boolean with an enum: it becomes an enum of `true`, which does not compile', () => {
    expect(schemas().length).toBeGreaterThan(1000);
    expect(against(({ type }) => type === 'boolean').length).toBeGreaterThan(50);
    expect(against(({ type, enum: values }) => type === 'boolean' && values !== undefined)).toEqual([]);
  });

  test('gets no allOf, anyOf or oneOf: it uses only the first part of an allOf, and for the others it names classes that it does not generate', () => {
    expect(against((schema) => ['allOf', 'anyOf', 'oneOf'].some((word) => word in schema))).toEqual([]);
  });

  test('gets no two properties with one name in camel case', () => {
    const camelCased = (name: string): string => name.replace(/[_-]+(\w)/g, (_, letter: string) => letter.toUpperCase()).toLowerCase();
    const hasTwins = ({ properties = {} }: Any): boolean => {
      const names = Object.keys(properties).map(camelCased);
      return new Set(names).size < names.length;
    };
    expect(hasTwins({ properties: { integrity_token: {}, integrityToken: {} } })).toBe(true);
    expect(against(hasTwins)).toEqual([]);
  });

  test('gets a name for the body of every request, every reply and every refusal', () => {
    const named = { $ref: expect.stringMatching(/^#\/components\/schemas\/[A-Z]\w+$/) };
    const ends: Record<string, number> = {};
    for (const { name, operation } of openapi.operations) {
      const responses = Object.keys(operation.responses).map((status) => [status, openapi.response(operation, status)] as const);
      for (const [what, content = {}] of [
        ['body', operation.requestBody?.content],
        ...responses.map(([status, each]) => [status, each.content]),
      ]) {
        for (const [mediaType, { schema }] of Object.entries<Any>(content)) {
          if (!/json/.test(mediaType)) continue;
          expect([name, what, schema]).toEqual([name, what, named]);
          const [end] = /[A-Z][a-z]+$/.exec(schema.$ref)!;
          ends[end] = (ends[end] ?? 0) + 1;
        }
      }
    }
    expect(ends).toMatchObject({ Request: expect.any(Number), Reply: expect.any(Number), Refusal: expect.any(Number) });
    expect(ends['Request']).toBeGreaterThan(30);
  });

  test('gets the error codes of each status in one plain enum, and all codes in one type', () => {
    const { ErrorCode, AnyRefusal, InsufficientCoinsDetails } = openapi.all.components.schemas;
    expect(InsufficientCoinsDetails.properties.code).toEqual({ type: 'string', enum: ['insufficient_coins'] });
    expect(Object.keys(InsufficientCoinsDetails.properties)).toEqual(['code', 'message', 'field', 'balanceCoins', 'debtCoins']);
    expect(openapi.resolved(openapi.resolved(AnyRefusal.properties.error).properties.code)).toEqual(ErrorCode);
    for (const { name, operation } of openapi.operations) {
      expect([name, operation.responses.default]).toEqual([name, { $ref: '#/components/responses/AnyRefusal' }]);
    }
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

  test('gets no pattern with a backslash before a slash: Ruby would have two', () => {
    expect(against(({ pattern }) => typeof pattern === 'string' && pattern.includes('\\/'))).toEqual([]);
  });

  test('gets no pattern beside a format: C# would match it with a date or a Guid, which does not compile', () => {
    const texts = schemas().filter(([, { type, format }]) => type === 'string' && format !== undefined);
    expect(new Set(texts.map(([, { format }]) => format))).toEqual(new Set(['date', 'date-time', 'uuid']));
    expect(against(({ format, pattern }) => format !== undefined && pattern !== undefined)).toEqual([]);
  });

  test('gets no part of the sandbox', () => {
    expect(Object.keys(openapi.all.paths).filter((path) => path.startsWith('/sandbox'))).toEqual([]);
    expect(Object.keys(openapi.all.components.schemas).filter((name) => name.startsWith('Sandbox'))).toEqual([]);
    expect(openapi.all.tags).not.toContainEqual(expect.objectContaining({ name: 'sandbox' }));
  });
});
