import { z } from 'zod';

/** A Schema Object, or a reference to one. */
export type Schema = { readonly [keyword: string]: unknown };

/** An object's schema with its properties at hand. */
export interface ObjectSchema extends Schema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/**
 * The dialects of JSON Schema that are written here, as zod calls them. OpenAPI 3.0 has one of its own that lies between
 * the drafts: https://spec.openapis.org/oas/v3.0.3#schema-object. AsyncAPI 3.0 has draft 7 and a little more:
 * https://www.asyncapi.com/docs/reference/specification/v3.0.0#schemaObject
 */
export type Dialect = 'openapi-3.0' | 'draft-7';

/**
 * Turns zod shapes into the Schema Objects of a document. Shapes with an id, and those that contain themselves, are
 * collected once for `#/components/schemas/`.
 */
export class Schemas {
  readonly components: Record<string, Schema>;
  readonly #dialect: Dialect;
  /** Names given, by what was given them. */
  readonly #names = new Map<string, string>();

  constructor(components: Readonly<Record<string, Schema>> = {}, dialect: Dialect = 'openapi-3.0') {
    this.components = { ...components };
    this.#dialect = dialect;
  }

  /**
   * What travels in a request or a reply. The input side of a shape is right for both: requests are parsed by it, and
   * a handler's reply goes out unparsed.
   */
  object(shape: z.ZodObject): ObjectSchema {
    const { definitions = {}, ...schema } = z.toJSONSchema(shape, {
      target: this.#dialect,
      io: 'input',
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        // A pattern has no flags: case-insensitive it would say less than is allowed. Others read the same without.
        if (!patternsOf(zodSchema).some((pattern) => pattern.ignoreCase)) return;
        delete jsonSchema.pattern;
        delete jsonSchema.allOf;
      },
    }) as Schema & { definitions?: Record<string, Schema> };
    const names = new Map<string, string>();
    for (const [name, definition] of Object.entries(definitions)) names.set(name, this.#nameFor(name, definition));
    for (const [name, definition] of Object.entries(definitions))
      this.components[names.get(name)!] = clean(definition, names, this.#dialect);
    return { properties: {}, ...clean(schema, names, this.#dialect) } as ObjectSchema;
  }

  /** The same shape met again keeps its name; a nameless one, and another of the same name, is given a number. */
  #nameFor(name: string, definition: Schema): string {
    const source = JSON.stringify([name, definition]);
    const known = this.#names.get(source);
    if (known !== undefined) return known;
    const wanted = name.startsWith('__') ? 'Nested' : name.replace(/[^\w.-]/g, '_');
    let free = wanted;
    for (let count = 2; free in this.components; count++) free = `${wanted}${count}`;
    this.components[free] = {};
    this.#names.set(source, free);
    return free;
  }
}

function patternsOf(shape: z.core.$ZodType): RegExp[] {
  return (shape._zod.def.checks ?? []).flatMap((check) => (check._zod.def as { pattern?: RegExp }).pattern ?? []);
}

const SHARED_WORDS = [
  'title',
  'multipleOf',
  'maximum',
  'exclusiveMaximum',
  'minimum',
  'exclusiveMinimum',
  'maxLength',
  'minLength',
  'pattern',
  'maxItems',
  'minItems',
  'uniqueItems',
  'maxProperties',
  'minProperties',
  'enum',
  'type',
  'description',
  'format',
  'default',
];

/** Keywords whose value is kept as it is. */
const plain: Readonly<Record<Dialect, ReadonlySet<string>>> = {
  'openapi-3.0': new Set([...SHARED_WORDS, 'nullable', 'example', 'deprecated']),
  'draft-7': new Set([...SHARED_WORDS, 'const', 'examples', 'contentEncoding', 'contentMediaType']),
};

/** Keywords whose value is a schema: for draft 7 also a list of them (a tuple's items), or a boolean. */
const holding: Readonly<Record<Dialect, ReadonlySet<string>>> = {
  'openapi-3.0': new Set(['items', 'not', 'additionalProperties']),
  'draft-7': new Set(['items', 'additionalItems', 'not', 'additionalProperties', 'propertyNames']),
};

/** Only what a Schema Object of this dialect may hold, all the way down; what it has no word for is left out. */
function clean(schema: Schema, names: ReadonlyMap<string, string>, dialect: Dialect): Schema {
  const below = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(below);
    return typeof value === 'boolean' ? value : clean(value as Schema, names, dialect);
  };
  if (typeof schema['$ref'] === 'string') {
    const name = schema['$ref'].split('/').at(-1)!;
    return { $ref: `#/components/schemas/${names.get(name) ?? name}` };
  }
  const cleaned: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (plain[dialect].has(keyword) || keyword.startsWith('x-')) cleaned[keyword] = value;
    else if (keyword === 'example') cleaned['examples'] = [value];
    else if (keyword === 'examples') cleaned['example'] = (value as unknown[])[0];
    else if (keyword === 'const') cleaned['enum'] = [value];
    else if (keyword === 'required' && (value as unknown[]).length > 0) cleaned['required'] = value;
    else if (keyword === 'allOf' || keyword === 'anyOf' || keyword === 'oneOf') cleaned[keyword] = below(value);
    else if (holding[dialect].has(keyword)) cleaned[keyword] = below(value);
    else if (keyword === 'properties')
      cleaned[keyword] = Object.fromEntries(Object.entries(value as object).map(([name, property]) => [name, below(property)]));
  }
  // zod spells dates out as a pattern of 200 characters beside the format that says it all.
  if (cleaned['format'] === 'date-time') delete cleaned['pattern'];
  // OpenAPI 3.0 has no type "null": a null is a value that a nullable type may take.
  if (dialect === 'openapi-3.0' && cleaned['type'] === 'null') Object.assign(cleaned, { type: 'string', nullable: true, enum: [null] });
  return cleaned;
}
