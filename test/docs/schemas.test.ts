import { expect, test } from 'vitest';
import { z } from 'zod';
import { Schemas, type Dialect } from '../../src/docs/schemas.ts';

const schemaOf = (shape: z.ZodType, dialect?: Dialect) => new Schemas({}, dialect).object(z.object({ it: shape })).properties['it'];

test.each([
  ['a literal is an enum of one', z.literal(true), { type: 'boolean', enum: [true] }],
  ['null is a value of a nullable type', z.null(), { type: 'string', nullable: true, enum: [null] }],
  ['a nullable keeps its type', z.number().nullable(), { type: 'number', nullable: true }],
  ['an exclusive bound is a flag', z.number().gt(0), { type: 'number', minimum: 0, exclusiveMinimum: true }],
  ['a record names no keys', z.record(z.string(), z.number()), { type: 'object', additionalProperties: { type: 'number' } }],
  ['a transform takes what goes in', z.string().transform(Number), { type: 'string' }],
  ['a default stands where it is not required', z.number().default(3), { type: 'number', default: 3 }],
  ['a date is told by its format alone', z.iso.datetime(), { type: 'string', format: 'date-time' }],
  ['the first of several examples', z.string().meta({ examples: ['a', 'b'] }), { type: 'string', example: 'a' }],
  [
    'what no Schema Object can hold is left out',
    z.base64url().meta({ note: 'of ours' }),
    { type: 'string', format: 'base64url', pattern: expect.any(String) },
  ],
  ['what has no schema may be anything', z.custom(() => true), {}],
  ['a pattern', z.string().regex(/^[\x21-\x7e]{8}$/), { type: 'string', pattern: '^[\\x21-\\x7e]{8}$' }],
  ['a pattern that ignores case would say too little', z.string().regex(/^abc$/i), { type: 'string' }],
  [
    'a property may be called as a keyword is',
    z.object({ const: z.string(), examples: z.string() }),
    {
      type: 'object',
      required: ['const', 'examples'],
      properties: { const: { type: 'string' }, examples: { type: 'string' } },
    },
  ],
])('%s', (_name, shape, expected) => {
  expect(schemaOf(shape)).toEqual(expected);
});

test.each([
  ['a literal is one', z.literal(true), { type: 'boolean', const: true }],
  ['null is a type', z.null(), { type: 'null' }],
  ['a nullable has two types', z.number().nullable(), { type: ['number', 'null'] }],
  ['an exclusive bound is a number', z.number().gt(0), { type: 'number', exclusiveMinimum: 0 }],
  ['an example is one of several', z.string().meta({ example: 'a' }), { type: 'string', examples: ['a'] }],
  ['examples stay', z.string().meta({ examples: ['a', 'b'] }), { type: 'string', examples: ['a', 'b'] }],
  [
    'a tuple has a schema for each place',
    z.tuple([z.string(), z.number()]),
    {
      type: 'array',
      items: [{ type: 'string' }, { type: 'number' }],
      additionalItems: false,
      minItems: 2,
      maxItems: 2,
    },
  ],
  ['a date is told by its format alone', z.iso.datetime(), { type: 'string', format: 'date-time' }],
  ['what draft 7 has no word for is left out', z.string().meta({ note: 'of ours' }), { type: 'string' }],
])('in draft 7 %s', (_name, shape, expected) => {
  expect(schemaOf(shape, 'draft-7')).toEqual(expected);
});

test('unknown fields are neither refused nor required', () => {
  expect(new Schemas().object(z.object({ a: z.string(), b: z.string().optional() }))).toEqual({
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' } },
    required: ['a'],
  });
});

test('an empty object requires nothing, not an empty list', () => {
  expect(new Schemas().object(z.object({}))).toEqual({ type: 'object', properties: {} });
});

test('a named shape is a component, written once', () => {
  const schemas = new Schemas();
  const Seat = z.object({ id: z.string() }).meta({ id: 'Seat' });
  const first = schemas.object(z.object({ seat: Seat }));
  const second = schemas.object(z.object({ seats: z.array(Seat) }));
  expect(first.properties['seat']).toEqual({ $ref: '#/components/schemas/Seat' });
  expect(second.properties['seats']).toEqual({ type: 'array', items: { $ref: '#/components/schemas/Seat' } });
  expect(schemas.components).toEqual({ Seat: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } });
});

test('a name that is taken is given a number', () => {
  const schemas = new Schemas({ Error: { type: 'object' } });
  const Mine = z.object({}).meta({ id: 'Error' });
  expect(schemas.object(z.object({ it: Mine })).properties['it']).toEqual({ $ref: '#/components/schemas/Error2' });
  expect(schemas.components['Error']).toEqual({ type: 'object' });
});

test('a shape that contains itself becomes a component that does', () => {
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
