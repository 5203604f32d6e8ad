import fc from 'fast-check';
import { z } from 'zod';
import { api } from '../../../src/api.ts';
import type { Services } from '../../../src/declare.ts';
import type { Endpoint } from '../../../src/server/http/endpoint.ts';

/** A value that is known only during the run: the service gave it out under this name, or it is one of the run's own ids. */
export interface Given {
  readonly given: string;
  readonly at: number;
}

export type Value = null | boolean | number | string | Given | readonly Value[] | { readonly [name: string]: Value };

/** How a request names its caller. None of these is a valid server key. */
export type Credential = 'none' | 'install' | 'cookie' | 'bearer' | 'wrong key';

/** A request as data, so that fast-check can print and shrink it. */
export interface AnyRequest {
  /** `POST /v1/coins/credit` */
  readonly send: string;
  readonly as: Credential;
  readonly at: number;
  readonly fields: { readonly [name: string]: Value };
}

export const anyCredential = fc.constantFrom<Credential>('none', 'install', 'cookie', 'bearer', 'wrong key');

/** Headers that a handler reads, and the field of replies that has their values. */
const HEADERS: Readonly<Record<string, string>> = { 'x-pair-secret': 'secret', 'x-device-id': 'deviceId' };

/** A request to any endpoint of the service, with fields that mostly fit its declaration. */
export const anyRequest: fc.Arbitrary<AnyRequest> = fc.oneof(...api.map(requestTo));

export function endpointOf(send: string): Endpoint<Services> {
  return api.find(({ method, path }) => `${method} ${path}` === send)!;
}

function requestTo(endpoint: Endpoint<Services>): fc.Arbitrary<AnyRequest> {
  const shapes = [endpoint.params, endpoint.query, endpoint.body].filter((shape) => shape !== undefined);
  const properties = Object.assign({}, ...shapes.map((shape) => schemaOf(shape).properties)) as Record<string, Schema>;
  // Without a server key a request must not name the account by its id.
  properties['accountId'] = { type: 'string' };
  for (const name of Object.keys(endpoint.headers ?? {})) if (name in HEADERS) properties[name] = { type: 'string' };
  return fc.record({
    send: fc.constant(`${endpoint.method} ${endpoint.path}`),
    as: anyCredential,
    at: fc.nat(5),
    fields: fieldsOf(properties),
  }) as fc.Arbitrary<AnyRequest>;
}

/** The part of JSON Schema that the declarations use. */
interface Schema {
  readonly type?: string;
  readonly enum?: readonly Value[];
  readonly const?: Value;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
}

function schemaOf(shape: z.ZodObject): Schema {
  return z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' }) as Schema;
}

function fieldsOf(properties: Readonly<Record<string, Schema>>): fc.Arbitrary<Record<string, Value>> {
  const model = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueOf(name, schema)]));
  return fc.record(model, { requiredKeys: [] }) as fc.Arbitrary<Record<string, Value>>;
}

function given(name: string): fc.Arbitrary<Given> {
  return fc.record({ given: fc.constant(HEADERS[name] ?? name), at: fc.nat(7) });
}

function valueOf(name: string, schema: Schema): fc.Arbitrary<Value> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => valueOf(name, one)));
  switch (schema.type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number': {
      const { minimum: min = -1e6, maximum: max = 1e6 } = schema;
      const likely = [1, 10, min, max].filter((number) => number >= min && number <= max);
      return fc.oneof(fc.constantFrom(...likely), fc.integer({ min: Math.ceil(min), max: Math.floor(max) }));
    }
    case 'string':
      if (name in HEADERS) return given(name);
      return fc.oneof({ weight: 9, arbitrary: given(name) }, { weight: 1, arbitrary: textOf(schema.pattern) });
    case 'array':
      return fc.array(valueOf(name, schema.items ?? {}), { maxLength: 3 });
    case 'object':
      return fieldsOf(schema.properties ?? {});
    default:
      return fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Value>;
  }
}

function textOf(pattern: string | undefined): fc.Arbitrary<string> {
  if (pattern === undefined) return fc.string({ maxLength: 20 });
  try {
    return fc.stringMatching(new RegExp(pattern));
  } catch {
    return fc.string({ maxLength: 20 });
  }
}
