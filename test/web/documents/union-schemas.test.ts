import { expect, test } from 'vitest';
import { z } from 'zod';
import { Schemas, type Dialect } from '../../../src/web/documents/schemas.ts';

const schemaOf = (shape: z.ZodType, dialect: Dialect = 'openapi-3.0') =>
  new Schemas({}, dialect).object(z.object({ it: shape })).properties['it'];

const byKind = z.discriminatedUnion('kind', [z.object({ kind: z.literal('a') }), z.object({ kind: z.literal('b'), note: z.date() })]);

test.each([
  [
    'a union with a plain type becomes any value',
    z.union([z.string(), z.number()]).meta({ description: 'A text or a number.' }),
    { description: 'A text or a number.' },
  ],
  [
    'a union of objects names each of its schemas',
    z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
    {
      anyOf: [
        { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
        { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] },
      ],
    },
  ],
  [
    'a union holds only words of OpenAPI 3.0, at every depth',
    z.union([z.array(z.string().meta({ examples: ['a'], note: 'of ours' })), z.array(z.number().gt(0))]),
    {
      anyOf: [
        { type: 'array', items: { type: 'string', example: 'a' } },
        { type: 'array', items: { type: 'number', minimum: 0, exclusiveMinimum: true } },
      ],
    },
  ],
  [
    'a union by a field accepts exactly one schema',
    byKind,
    {
      oneOf: [
        { type: 'object', properties: { kind: { type: 'string', enum: ['a'] } }, required: ['kind'] },
        { type: 'object', properties: { kind: { type: 'string', enum: ['b'] }, note: {} }, required: ['kind', 'note'] },
      ],
    },
  ],
  ['a literal null is a nullable type', z.literal(null), { type: 'string', nullable: true, enum: [null] }],
])('%s', (_, shape, expected) => {
  expect(schemaOf(shape)).toEqual(expected);
});

test('in draft 7 a union keeps the words of draft 7', () => {
  expect(schemaOf(z.union([z.literal('a'), z.null()]), 'draft-7')).toEqual({ anyOf: [{ type: 'string', const: 'a' }, { type: 'null' }] });
});
