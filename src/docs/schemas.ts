import { z } from 'zod';

/** An OpenAPI 3.0 Schema Object, or a reference to one. */
export type Schema = { readonly [keyword: string]: unknown };

/** An object's schema with its properties at hand. */
export interface ObjectSchema extends Schema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/**
 * Turns zod shapes into the Schema Objects of OpenAPI 3.0, a dialect of its own that lies between the drafts of JSON
 * Schema: https://spec.openapis.org/oas/v3.0.3#schema-object. Shapes with an id, and those that contain themselves, are
 * collected once for `#/components/schemas/`.
 */
export class Schemas {
  readonly components: Record<string, Schema>;
  /** Names given, by what was given them. */
  readonly #names = new Map<string, string>();

  constructor(components: Readonly<Record<string, Schema>> = {}) {
    this.components = { ...components };
  }

  /**
   * What travels in a request or a reply. The input side of a shape is right for both: requests are parsed by it, and
   * a handler's reply goes out unparsed.
   */
  object(shape: z.ZodObject): ObjectSchema {
    const { definitions = {}, ...schema } = z.toJSONSchema(shape, {
      target: 'openapi-3.0',
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
    for (const [name, definition] of Object.entries(definitions)) this.components[names.get(name)!] = clean(definition, names);
    return { properties: {}, ...clean(schema, names) } as ObjectSchema;
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

/** Keywords whose value is kept as it is. */
const PLAIN = new Set([
  'title', 'multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum', 'maxLength', 'minLength', 'pattern',
  'maxItems', 'minItems', 'uniqueItems', 'maxProperties', 'minProperties', 'enum', 'type', 'description', 'format',
  'default', 'nullable', 'example', 'deprecated',
]);

/** Only what a Schema Object of OpenAPI 3.0 may hold, all the way down; what it has no word for is left out. */
function clean(schema: Schema, names: ReadonlyMap<string, string>): Schema {
  const below = (value: unknown): Schema => clean(value as Schema, names);
  if (typeof schema['$ref'] === 'string') {
    const name = schema['$ref'].split('/').at(-1)!;
    return { $ref: `#/components/schemas/${names.get(name) ?? name}` };
  }
  const cleaned: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (PLAIN.has(keyword) || keyword.startsWith('x-')) cleaned[keyword] = value;
    else if (keyword === 'examples') cleaned['example'] = (value as unknown[])[0];
    else if (keyword === 'const') cleaned['enum'] = [value];
    else if (keyword === 'required' && (value as unknown[]).length > 0) cleaned['required'] = value;
    else if (keyword === 'allOf' || keyword === 'anyOf' || keyword === 'oneOf') cleaned[keyword] = (value as unknown[]).map(below);
    else if (keyword === 'items' || keyword === 'not') cleaned[keyword] = below(value);
    else if (keyword === 'additionalProperties') cleaned[keyword] = typeof value === 'boolean' ? value : below(value);
    else if (keyword === 'properties') cleaned[keyword] = Object.fromEntries(Object.entries(value as object).map(([name, property]) => [name, below(property)]));
  }
  // zod spells dates out as a pattern of 200 characters beside the format that says it all.
  if (cleaned['format'] === 'date-time') delete cleaned['pattern'];
  // There is no type "null": a null is a value that a nullable type may take.
  if (cleaned['type'] === 'null') Object.assign(cleaned, { type: 'string', nullable: true, enum: [null] });
  return cleaned;
}
