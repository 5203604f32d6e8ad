import { z } from 'zod';

/** A Schema Object of a document, or a reference to a Schema Object. */
export type Schema = { readonly [keyword: string]: unknown };

/** The schema of a JSON object. */
export interface ObjectSchema extends Schema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/**
 * The JSON Schema dialects of the two documents, by zod's names. OpenAPI 3.0 has its own dialect between the drafts:
 * https://spec.openapis.org/oas/v3.0.3#schema-object. AsyncAPI 3.0 extends draft 7:
 * https://www.asyncapi.com/docs/reference/specification/v3.0.0#schemaObject
 */
export type Dialect = 'openapi-3.0' | 'draft-7';

/**
 * Turns zod shapes into a document's Schema Objects. A shape with an id, or one that contains itself, goes into
 * `#/components/schemas/` once and is referenced.
 */
export class Schemas {
  readonly components: Record<string, Schema>;
  readonly #dialect: Dialect;
  /** The names of the components. The key is the JSON text of zod's name and of the definition. */
  readonly #names = new Map<string, string>();

  constructor(components: Readonly<Record<string, Schema>> = {}, dialect: Dialect = 'openapi-3.0') {
    this.components = { ...components };
    this.#dialect = dialect;
  }

  /**
   * The schema of the object of a request or a reply. Both use the input side of the shape, because the server parses requests with the
   * shape, but sends a handler's reply without parsing it.
   */
  object(shape: z.ZodObject): ObjectSchema {
    const { definitions = {}, ...schema } = z.toJSONSchema(shape, {
      target: this.#dialect,
      io: 'input',
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        // `typed` is only for the forms of operators, and is not part of the document.
        delete jsonSchema['typed'];
        // JSON Schema patterns have no flags. Without its `i` flag a pattern would refuse values that the service accepts. The service's
        // patterns have no other flag that matters.
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

  /** A reference to the schema of an object. The schema becomes a component with this name. */
  reference(name: string, shape: z.ZodObject): Schema {
    return this.component(name, this.object(shape));
  }

  /** A reference to this schema. The schema becomes a component with this name. */
  component(name: string, schema: Schema): Schema {
    const component = this.#nameFor(name, schema);
    this.components[component] = schema;
    return { $ref: `#/components/schemas/${component}` };
  }

  /**
   * The name of a component. The same definition always gets the same name; another definition with the same name gets a number appended.
   */
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
];

/** The keywords whose values are copied into the document. */
const plain: Readonly<Record<Dialect, ReadonlySet<string>>> = {
  'openapi-3.0': new Set([...SHARED_WORDS, 'nullable', 'example', 'deprecated']),
  'draft-7': new Set([...SHARED_WORDS, 'default', 'const', 'examples', 'contentEncoding', 'contentMediaType']),
};

/** The keywords whose value is a schema. In draft 7 the value may also be a list of schemas (the items of a tuple) or a boolean. */
const holding: Readonly<Record<Dialect, ReadonlySet<string>>> = {
  'openapi-3.0': new Set(['items', 'not', 'additionalProperties']),
  'draft-7': new Set(['items', 'additionalItems', 'not', 'additionalProperties', 'propertyNames']),
};

/** The schema with only the keywords that the dialect has, at every depth. A few other keywords are translated; all others are dropped. */
function clean(schema: Schema, names: ReadonlyMap<string, string>, dialect: Dialect): Schema {
  const below = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(below);
    return typeof value === 'boolean' ? value : clean(value as Schema, names, dialect);
  };
  // zod writes an optional field of a named schema as an `allOf` with one part. The part alone says the same.
  const [only, ...others] = (schema['allOf'] ?? []) as Schema[];
  if (typeof only?.['$ref'] === 'string' && others.length === 0) return clean(only, names, dialect);
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
  // JavaScript escapes slashes in a pattern. Generators for Ruby would escape both the slash and its backslash again.
  if (typeof cleaned['pattern'] === 'string') cleaned['pattern'] = cleaned['pattern'].replaceAll('\\/', '/');
  // `additionalProperties` is left out, because every object may have more fields anyway. If a class has it, generators for PHP make the
  // class call a parent that it does not have.
  const isClass = typeof cleaned['properties'] === 'object' && !isEmpty(cleaned['properties']);
  if (dialect === 'openapi-3.0' && isEmpty(cleaned['additionalProperties'])) {
    if (isClass) delete cleaned['additionalProperties'];
    else cleaned['additionalProperties'] = true;
  }
  if (dialect === 'openapi-3.0' && schema['default'] !== undefined) describeDefault(cleaned, schema['default']);
  // zod adds long patterns to dates and UUIDs. The format says enough. Generators for C# would apply the pattern to a Guid, which does not
  // compile.
  if (typeof cleaned['format'] === 'string') delete cleaned['pattern'];
  if (dialect === 'openapi-3.0' && cleaned['type'] === 'boolean') describeLiteral(cleaned);
  if (dialect === 'openapi-3.0' && isUnionOfPlainTypes(cleaned)) delete cleaned['anyOf'];
  if (cleaned['type'] === 'integer') describeInteger(cleaned, dialect);
  // OpenAPI 3.0 has no type "null": only a nullable type may be null.
  if (dialect === 'openapi-3.0' && cleaned['type'] === 'null') Object.assign(cleaned, { type: 'string', nullable: true, enum: [null] });
  return cleaned;
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && Object.keys(value!).length === 0;
}

/**
 * Whether the schema is a union of plain types, such as text or number. Generators for typed languages refer to a class for such a union
 * without writing that class, so the document allows any value.
 */
function isUnionOfPlainTypes({ anyOf }: Schema): boolean {
  return ((anyOf ?? []) as Schema[]).some(({ type }) => type === 'string' || type === 'number' || type === 'integer' || type === 'boolean');
}

/**
 * Writes the default of a field into its description, and drops the keyword `default`, because openapi-typescript would make such a field
 * required, also in requests.
 */
function describeDefault(schema: Record<string, unknown>, value: unknown): void {
  const text = `Default: \`${typeof value === 'string' ? value : JSON.stringify(value)}\`.`;
  schema['description'] = schema['description'] === undefined ? text : `${String(schema['description'])} ${text}`;
}

/** Describes a boolean that has only one value. Generators for typed languages would turn the value into an enum that does not compile. */
function describeLiteral(schema: Record<string, unknown>): void {
  const values = (schema['enum'] ?? []) as unknown[];
  delete schema['enum'];
  if (values.length === 1) schema['description'] ??= `Always \`${String(values[0])}\`.`;
}

/**
 * Describes the range of whole numbers. For zod, a whole number in a query is a text with a pattern. Its own description says `type:
 * 'integer'`. zod bounds other integers by the range in which doubles are exact, which is of no use to a reader.
 */
function describeInteger(schema: Record<string, unknown>, dialect: Dialect): void {
  delete schema['pattern'];
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
  const { minimum, maximum } = schema as { minimum?: number; maximum?: number };
  // Generators for typed languages would treat an integer without a format as an integer of 32 bits.
  const isShort = Math.abs(minimum ?? Infinity) <= MAX_INT32 && Math.abs(maximum ?? Infinity) <= MAX_INT32;
  if (dialect === 'openapi-3.0' && !isShort) schema['format'] = 'int64';
}

const MAX_INT32 = 2 ** 31 - 1;
