import AjvDraft4Module, { type ValidateFunction } from 'ajv-draft-04';
import formatsModule from 'ajv-formats';
import { api } from '../../../src/api.ts';
import type { Endpoint } from '../../../src/server/http/endpoint.ts';
import type { Services } from '../../../src/declare.ts';

// Both are CommonJS modules whose default export is nested once more.
const Ajv = AjvDraft4Module.default;
const addFormats = formatsModule.default;

/** A validator that knows the components of a document. */
function ajvFor(components: object) {
  // strict: an unknown keyword or format is an error.
  const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
  addFormats(ajv);
  for (const format of ['base64', 'base64url', 'int64']) ajv.addFormat(format, true);
  // The keywords that OpenAPI 3.0 adds to draft 4. ajv knows `nullable`.
  ajv.addVocabulary(['example', 'deprecated', 'components']);
  // One instance for all: ajv then compiles each component at most once.
  ajv.addSchema({ id: 'openapi', components: withoutExamples(components) as object });
  return ajv;
}

// `any`: the document is read without types, as a client reads it.
// oxlint-disable-next-line no-explicit-any
type Any = any;

/** Lookups of the tests in an OpenAPI document. */
export class OpenapiDocument {
  readonly all: Any;
  readonly #ajv;
  /** Validators by schema, because many operations have the same errors and ajv takes milliseconds for each. */
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(body: Any) {
    this.all = body;
    this.#ajv = ajvFor(body.components);
  }

  /** Every operation, including the variants of an endpoint. */
  get operations(): { name: string; operation: Any }[] {
    return Object.entries<Any>(this.all.paths).flatMap(([path, methods]) =>
      Object.entries<Any>(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
    );
  }

  /** The operations of the declared endpoints and aliases. The document leaves those of the sandbox out. */
  get declared(): { endpoint: Endpoint<Services>; path: string; operation: Any }[] {
    return api.flatMap((endpoint) =>
      [endpoint.path, ...(endpoint.aliases ?? [])].map((path) => ({
        endpoint,
        path,
        operation: this.all.paths[path]?.[endpoint.method.toLowerCase()],
      })),
    );
  }

  /** The response of an operation with this status. The responses of errors are components. */
  response(operation: Any, status: number | string): Any {
    const response = operation.responses[status];
    return response.$ref === undefined ? response : this.all.components.responses[response.$ref.split('/').at(-1)];
  }

  /** The error codes of an operation with this status. */
  codes(operation: Any, status: number | string): string[] {
    const { error } = this.resolved(this.response(operation, status).content['application/json'].schema).properties;
    return this.resolved(this.resolved(error).properties.code).enum;
  }

  /** The schema itself, or the component that it refers to. */
  resolved(schema: Any): Any {
    return schema.$ref === undefined ? schema : this.all.components.schemas[schema.$ref.split('/').at(-1)];
  }

  /** The schema of an operation's body. */
  body(operation: Any): Any {
    return this.resolved(operation.requestBody.content['application/json'].schema);
  }

  /** A validator that resolves references within the document, as tools do. */
  validator(schema: object): ValidateFunction {
    const text = JSON.stringify(schema);
    const known = this.#validators.get(text);
    if (known !== undefined) return known;
    const local = JSON.stringify(withoutExamples(schema));
    const made = this.#ajv.compile(JSON.parse(local.replaceAll('"$ref":"#/', '"$ref":"openapi#/')));
    this.#validators.set(text, made);
    return made;
  }
}

/** ajv takes the `id` of an example for the id of a schema, because that is its meaning in draft 4. */
function withoutExamples(value: Any, isMap = false): Any {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => withoutExamples(each));
  const kept = Object.entries(value).filter(([key]) => isMap || (key !== 'example' && key !== 'examples'));
  return Object.fromEntries(kept.map(([key, below]) => [key, withoutExamples(below, key === 'properties')]));
}

/** The actions of `POST /v1/rooms/{code}/{action}`. */
export const ROOM_ACTIONS: readonly string[] =
  'join leave ready unready start end kick transfer lock unlock settings state data private message rematch'.split(' ');
