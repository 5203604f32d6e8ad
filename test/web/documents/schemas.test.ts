import { expect, test } from 'vitest';
import { z } from 'zod';
import { Schemas, type Dialect } from '../../../src/web/documents/schemas.ts';

const schemaOf = (shape: z.ZodType, dialect?: Dialect) => new Schemas({}, dialect).object(z.object({ it: shape })).properties['it'];

const byKind = z.discriminatedUnion('kind', [z.object({ kind: z.literal('a') }), z.object({ kind: z.literal('b'), note: z.date() })]);

test.each([
  ['a literal becomes an enum of one value', z.literal('a'), { type: 'string', enum: ['a'] }],
  ['a literal boolean is a boolean that says its value', z.literal(true), { type: 'boolean', description: 'Always `true`.' }],
  [
    'a literal boolean keeps its own description',
    z.literal(true).meta({ description: 'Done before.' }),
    { type: 'boolean', description: 'Done before.' },
  ],
  ['a pattern has no backslashes before slashes', z.string().regex(/^https?:\/\/\S+$/), { type: 'string', pattern: '^https?://\\S+$' }],
  ['null becomes a nullable type with one value', z.null(), { type: 'string', nullable: true, enum: [null] }],
  ['an exclusive bound becomes a flag', z.number().gt(0), { type: 'number', minimum: 0, exclusiveMinimum: true }],
  ['a record becomes additionalProperties', z.record(z.string(), z.number()), { type: 'object', additionalProperties: { type: 'number' } }],
  [
    'an object that accepts more fields is like any other object',
    z.looseObject({ a: z.string() }),
    { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
  ],
  ['a transform shows its input', z.string().transform(Number), { type: 'string' }],
  ['a field with a default is optional and shows it', z.number().default(3), { type: 'number', default: 3 }],
  ['a date shows its format and no pattern', z.iso.datetime(), { type: 'string', format: 'date-time' }],
  ['only the first of several examples is shown', z.string().meta({ examples: ['a', 'b'] }), { type: 'string', example: 'a' }],
  [
    'metadata that a Schema Object cannot hold is omitted',
    z.base64url().meta({ note: 'of ours' }),
    { type: 'string', format: 'base64url' },
  ],
  ['a custom check becomes an empty schema', z.custom(() => true), {}],
  ['a regular expression becomes a pattern', z.string().regex(/^[\x21-\x7e]{8}$/), { type: 'string', pattern: '^[\\x21-\\x7e]{8}$' }],
  ['a case-insensitive regular expression is omitted, because a pattern has no flags', z.string().regex(/^abc$/i), { type: 'string' }],
  [
    'a property may have the name of a keyword',
    z.object({ const: z.string(), examples: z.string() }),
    {
      type: 'object',
      required: ['const', 'examples'],
      properties: { const: { type: 'string' }, examples: { type: 'string' } },
    },
  ],
  ['an integer is not bounded by what a double holds', z.number().int(), { type: 'integer', format: 'int64' }],
  [
    'an integer of at most 32 bits has no format',
    z.number().int().min(0).max(2_147_483_647),
    { type: 'integer', minimum: 0, maximum: 2_147_483_647 },
  ],
  [
    'a larger integer has 64 bits',
    z.number().int().min(0).max(2_147_483_648),
    { type: 'integer', minimum: 0, maximum: 2_147_483_648, format: 'int64' },
  ],
  [
    'a whole number that comes as text is an integer without a pattern',
    z
      .string()
      .regex(/^\d{1,2}$/)
      .optional()
      .meta({ type: 'integer', minimum: 0, maximum: 25 }),
    { type: 'integer', minimum: 0, maximum: 25 },
  ],
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
])('in OpenAPI 3.0 %s', (_name, shape, expected) => {
  expect(schemaOf(shape)).toEqual(expected);
});

test('a shape with references by name becomes one component', () => {
  const schemas = new Schemas();
  const shape = z.object({ id: z.string() });
  expect([schemas.reference('SeatReply', shape), schemas.reference('SeatReply', z.object({ id: z.string() }))]).toEqual([
    { $ref: '#/components/schemas/SeatReply' },
    { $ref: '#/components/schemas/SeatReply' },
  ]);
  expect(schemas.components).toEqual({ SeatReply: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } });
  expect(schemas.reference('SeatReply', z.object({}))).toEqual({ $ref: '#/components/schemas/SeatReply2' });
});

test.each([
  [
    'a union keeps the words of draft 7',
    z.union([z.literal('a'), z.null()]),
    { anyOf: [{ type: 'string', const: 'a' }, { type: 'null' }] },
  ],
  ['a literal becomes a const', z.literal(true), { type: 'boolean', const: true }],
  ['null is a type', z.null(), { type: 'null' }],
  ['a nullable has two types', z.number().nullable(), { type: ['number', 'null'] }],
  ['an exclusive bound becomes a number', z.number().gt(0), { type: 'number', exclusiveMinimum: 0 }],
  ['one example becomes a list of examples', z.string().meta({ example: 'a' }), { type: 'string', examples: ['a'] }],
  ['several examples are kept', z.string().meta({ examples: ['a', 'b'] }), { type: 'string', examples: ['a', 'b'] }],
  [
    'a tuple becomes a schema for each element',
    z.tuple([z.string(), z.number()]),
    {
      type: 'array',
      items: [{ type: 'string' }, { type: 'number' }],
      additionalItems: false,
      minItems: 2,
      maxItems: 2,
    },
  ],
  ['metadata that draft 7 does not know is omitted', z.string().meta({ note: 'of ours' }), { type: 'string' }],
])('in draft 7 %s', (_name, shape, expected) => {
  expect(schemaOf(shape, 'draft-7')).toEqual(expected);
});

test('an object allows unknown fields and requires only its required ones', () => {
  expect(new Schemas().object(z.object({ a: z.string(), b: z.string().optional() }))).toEqual({
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' } },
    required: ['a'],
  });
});

test('a shape with an id becomes one component', () => {
  const schemas = new Schemas();
  const Seat = z.object({ id: z.string() }).meta({ id: 'Seat' });
  const first = schemas.object(z.object({ seat: Seat }));
  const second = schemas.object(z.object({ seats: z.array(Seat) }));
  expect(first.properties['seat']).toEqual({ $ref: '#/components/schemas/Seat' });
  expect(second.properties['seats']).toEqual({ type: 'array', items: { $ref: '#/components/schemas/Seat' } });
  expect(schemas.components).toEqual({ Seat: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } });
});

test('a second shape with a used name gets a number', () => {
  const schemas = new Schemas({ Error: { type: 'object' } });
  const Mine = z.object({}).meta({ id: 'Error' });
  expect(schemas.object(z.object({ it: Mine })).properties['it']).toEqual({ $ref: '#/components/schemas/Error2' });
  expect(schemas.components['Error']).toEqual({ type: 'object' });
});

test('a recursive shape becomes a component that refers to itself', () => {
  const schemas = new Schemas();
  const Tree = z.object({
    get children() {
      return z.array(Tree);
    },
  });
  expect(schemas.object(z.object({ tree: Tree })).properties['tree']).toEqual({ $ref: '#/components/schemas/Nested' });
  expect(schemas.object(z.object({ same: Tree })).properties['same']).toEqual({ $ref: '#/components/schemas/Nested' });
  expect(schemas.components).toEqual({
    Nested: {
      type: 'object',
      required: ['children'],
      properties: { children: { type: 'array', items: { $ref: '#/components/schemas/Nested' } } },
    },
  });
});
