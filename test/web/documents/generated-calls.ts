import { exampleOf } from '../../../src/web/documents/examples.ts';
import type { Schema } from '../../../src/web/documents/schemas.ts';

/**
 * A call of each operation of the OpenAPI document, written for each generator: the code compiles only if the generated types can be used.
 * The values are the document's own examples.
 */

type Components = Readonly<Record<string, Schema>>;

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Schema;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, { readonly schema: { $ref: string } }>> };
}

/** The parts of the OpenAPI document that the calls are made of. */
export interface CalledDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Components };
}

interface Field {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: Schema;
  readonly value: unknown;
}

interface Body {
  /** The name of the body's type. */
  readonly name: string;
  readonly isRequired: boolean;
  readonly fields: readonly Field[];
}

/** A call with a value for each field that the operation takes, but headers: clients take those in ways of their own. */
export interface Call {
  readonly id: string;
  readonly tag: string;
  readonly method: string;
  readonly path: string;
  readonly inPath: readonly Field[];
  readonly inQuery: readonly Field[];
  readonly body: Body | undefined;
  /** All parameters and the body as openapi-generator passes them: those that are required come first. */
  readonly inOrder: readonly (Field | Body)[];
}

export function callsOf({ paths, components: { schemas } }: CalledDocument): Call[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([
        method,
        {
          operationId: id,
          tags: [tag],
          parameters = [],
          requestBody,
        },
      ]): Call => {
        const fields = parameters.map(({ name, required, schema, in: place }) => ({
          ...{ name, isRequired: required, schema, place },
          value: place === 'header' ? undefined : exampleOf(schema, schemas, name),
        }));
        const body = requestBody === undefined ? undefined : bodyOf(requestBody, schemas);
        const all = [...fields, ...(body === undefined ? [] : [body])];
        return {
          ...{ id, tag, path, body, method: method.toUpperCase() },
          inPath: fields.filter(({ place }) => place === 'path'),
          inQuery: fields.filter(({ place }) => place === 'query'),
          inOrder: [...all.filter(({ isRequired }) => isRequired), ...all.filter(({ isRequired }) => !isRequired)],
        };
      },
    ),
  );
}

function bodyOf({ required: isRequired, content }: NonNullable<Operation['requestBody']>, schemas: Components): Body {
  const name = Object.values(content)[0]!.schema.$ref.split('/').at(-1)!;
  const { properties = {}, required = [] } = schemas[name] as { properties?: Components; required?: readonly string[] };
  const fields = Object.entries(properties).map(([field, schema]) => ({
    ...{ name: field, isRequired: required.includes(field), schema },
    value: exampleOf(schema, schemas, field),
  }));
  return { name, isRequired, fields };
}

// TypeScript: each operation is called with all fields, and with only those that the service requires.

const object = (fields: readonly Field[]): string => JSON.stringify(Object.fromEntries(fields.map(({ name, value }) => [name, value])));

/** The fields by place, as a generated function takes them: `path: {…}, query: {…}, body: {…}`. */
const placed = (places: Readonly<Record<string, readonly Field[] | undefined>>): string =>
  Object.entries(places)
    .flatMap(([place, fields]) => (fields === undefined || fields.length === 0 ? [] : [`${place}: ${object(fields)}`]))
    .join(', ');

/** Each call twice. @param write a call as an expression */
function twice(calls: readonly Call[], write: (call: Call) => string): string {
  const requiredOnly = (fields: readonly Field[]): Field[] => fields.filter(({ isRequired }) => isRequired);
  const needed = calls.map(({ inQuery, body, ...call }) => ({
    ...call,
    inQuery: requiredOnly(inQuery),
    body: body?.isRequired === true ? { ...body, fields: requiredOnly(body.fields) } : undefined,
  }));
  return [...calls, ...needed].map((call) => `  await ${write(call)};`).join('\n');
}

export const openapiFetchCalls = (calls: readonly Call[]): string => `
import createClient from 'openapi-fetch';
import type { paths } from './openapi-typescript/schema';

export async function callAll(): Promise<void> {
  const client = createClient<paths>({ baseUrl: 'http://localhost:3000' });
${twice(calls, ({ method, path, inPath, inQuery, body }) => {
  const params = placed({ path: inPath, query: inQuery });
  const sent = [...(params === '' ? [] : [`params: { ${params} }`]), ...(body === undefined ? [] : [`body: ${object(body.fields)}`])];
  return `client.${method}('${path}'${sent.length === 0 ? '' : `, { ${sent.join(', ')} }`})`;
})}
}
`;

export const heyApiCalls = (calls: readonly Call[]): string => `
import { createClient } from './hey-api/client';
import * as coinop from './hey-api';

export async function callAll(): Promise<void> {
  const client = createClient({ baseUrl: 'http://localhost:3000' });
${twice(calls, ({ id, inPath, inQuery, body }) => {
  const sent = placed({ path: inPath, query: inQuery });
  return `coinop.${id}({ client${sent === '' ? '' : `, ${sent}`}${body === undefined ? '' : `, body: ${object(body.fields)}`} })`;
})}
}
`;

export const orvalCalls = (calls: readonly Call[]): string => `
import * as coinop from './orval/client';

export async function callAll(): Promise<void> {
${twice(calls, ({ id, inPath, inQuery, body }) => {
  const sent = [
    ...inPath.map(({ value }) => JSON.stringify(value)),
    ...(body === undefined ? [] : [object(body.fields)]),
    ...(inQuery.length === 0 ? [] : [object(inQuery)]),
  ];
  return `coinop.${id}(${sent.join(', ')})`;
})}
}
`;

// openapi-generator

/** `x-install-id` and `install_id` as `installId`. */
const camelCased = (name: string): string => name.replace(/[_-]+(\w)/g, (_, letter: string) => letter.toUpperCase());
const capitalised = (name: string): string => name[0]!.toUpperCase() + name.slice(1);
const uncapitalised = (name: string): string => name[0]!.toLowerCase() + name.slice(1);
/** The name of a field in Java and C#, which put an underscore in front of a word of the language. */
const member = (name: string): string => (name === 'public' ? '_public' : uncapitalised(camelCased(name)));
const isBody = (argument: Field | Body): argument is Body => 'fields' in argument;
const enumName = (owner: string, name: string): string => `${owner}.${capitalised(camelCased(name))}Enum`;

/** The class of a parameter whose schema has a name, such as the status of a pairing. Undefined: it has none. */
const classOf = ({ schema }: Field): string | undefined => (schema['$ref'] as string | undefined)?.split('/').at(-1);

/** A value as an expression of Java. @param owner the class of the field's enum. Undefined for a parameter, which takes a text */
function inJava(field: Field, owner?: string): string {
  const { name, schema, value } = field;
  const enumeration = classOf(field) ?? (owner !== undefined && schema['enum'] !== undefined ? enumName(owner, name) : undefined);
  if (enumeration !== undefined) return `${enumeration}.fromValue(${JSON.stringify(value)})`;
  if (schema['type'] === 'number') return `new java.math.BigDecimal(${JSON.stringify(String(value))})`;
  if (schema['type'] === 'integer') return schema['format'] === 'int64' ? `${String(value)}L` : String(value);
  if (schema['properties'] !== undefined) return `new ${owner}${capitalised(name)}()`;
  return javaLiteral(value);
}

function javaLiteral(value: unknown): string {
  if (Array.isArray(value)) return `List.of(${value.map(javaLiteral).join(', ')})`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `Map.of(${Object.entries(value)
    .flatMap(([key, one]) => [JSON.stringify(key), javaLiteral(one)])
    .join(', ')})`;
}

export const javaCalls = (calls: readonly Call[]): string => `
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.*;
import org.openapitools.client.model.*;

final class Calls {
${calls
  .map(({ id, tag, inOrder }) => {
    const sent = inOrder.map((argument) => {
      if (!isBody(argument)) return argument.value === undefined ? 'null' : inJava(argument);
      // The generator makes no class of a body without fields.
      if (argument.fields.length === 0) return 'new Object()';
      return `new ${argument.name}()${argument.fields.map((field) => `.${member(field.name)}(${inJava(field, argument.name)})`).join('')}`;
    });
    return `  static void ${id}(ApiClient client) throws ApiException { new ${capitalised(tag)}Api(client).${id}(${sent.join(', ')}); }`;
  })
  .join('\n')}
}
`;

/** A value as an expression of C#. @param owner the class of the field's enum. Undefined for a parameter, which takes a text */
function inCsharp(field: Field, owner?: string): string {
  const { name, schema, value } = field;
  const enumeration = classOf(field) ?? (owner !== undefined && schema['enum'] !== undefined ? enumName(owner, name) : undefined);
  if (enumeration !== undefined) return `${enumeration}.${capitalised(String(value))}`;
  if (Array.isArray(value)) return `new List<string> { ${value.map((one) => JSON.stringify(one)).join(', ')} }`;
  if (schema['properties'] !== undefined) return `new ${owner}${capitalised(name)}()`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const of = (schema['additionalProperties'] as Schema | undefined)?.['type'] === 'string' ? 'string' : 'Object';
  return `new Dictionary<string, ${of}> { ${Object.entries(value)
    .map(([key, one]) => `{ ${JSON.stringify(key)}, ${typeof one === 'object' ? 'new Object()' : JSON.stringify(one)} }`)
    .join(', ')} }`;
}

export const csharpCalls = (calls: readonly Call[]): string => `
using System;
using System.Collections.Generic;
using Org.OpenAPITools.Api;
using Org.OpenAPITools.Model;

static class Calls
{
${calls
  .map(({ id, tag, inOrder }) => {
    const sent = inOrder.flatMap((argument) => {
      if (isBody(argument)) {
        if (argument.fields.length === 0) return ['body: new Object()'];
        const fields = argument.fields.map((field) => `${member(field.name)}: ${inCsharp(field, argument.name)}`);
        return [`${uncapitalised(argument.name)}: new ${argument.name}(${fields.join(', ')})`];
      }
      return argument.value === undefined ? [] : [`${uncapitalised(camelCased(argument.name))}: ${inCsharp(argument)}`];
    });
    return `    static void ${capitalised(id)}(string url) { new ${capitalised(tag)}Api(url).${capitalised(id)}(${sent.join(', ')}); }`;
  })
  .join('\n')}
}
`;

// Python finds no mistake before it runs: each call is sent to a service. An answer of the service counts, also a refusal.

/** `creditCoins` and `x-install-id` as `credit_coins` and `x_install_id`. */
const snakeCased = (name: string): string => uncapitalised(camelCased(name)).replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A value as an expression of Python. */
const inPython = ({ value }: Field): string => `json.loads(r'''${JSON.stringify(value)}''')`;

/** The arguments of a call in Python: those that are required, and the body. The body has the fields that are required or have an example. */
function pythonArguments({ inOrder }: Call): string {
  const sent = inOrder.flatMap((argument): string[] => {
    if (!isBody(argument)) return argument.isRequired ? [inPython(argument)] : [];
    // The generator makes no class of a body without fields.
    if (argument.fields.length === 0) return ['body={}'];
    const fields = argument.fields.filter(({ isRequired, schema }) => isRequired || schema['example'] !== undefined);
    const body = `coinop.${argument.name}(${fields.map((field) => `${snakeCased(field.name)}=${inPython(field)}`).join(', ')})`;
    return [argument.isRequired ? body : `${snakeCased(argument.name)}=${body}`];
  });
  return sent.join(', ');
}

export const pythonCalls = (calls: readonly Call[]): string => `
import json, sys
import openapi_client as coinop

client = coinop.ApiClient(coinop.Configuration(host=sys.argv[1]))
# This version of the generator reads it, and does not set it.
client.configuration.access_token = None
calls = [
${calls.map((call) => `    lambda: coinop.${capitalised(call.tag)}Api(client).${snakeCased(call.id)}(${pythonArguments(call)}),`).join('\n')}
]
answered = 0
for call in calls:
    try:
        call()
    except coinop.ApiException as refused:
        json.loads(refused.body)["error"]["code"]
    answered += 1
print(answered)
`;
