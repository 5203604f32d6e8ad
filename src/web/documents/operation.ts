import { z } from 'zod';
import { AccountNames } from '../../server/http/server-key-credential.ts';
import { authOf, type EndpointDeclaration, type OperationVariant } from '../../server/http/endpoint.ts';
import { exampleOf } from './examples.ts';
import { capitalised, operationNameOf } from './operation-names.ts';
import { describeRefusals, REQUEST_ID, type Refusals } from './error-replies.ts';
import type { ObjectSchema, Schema, Schemas } from './schemas.ts';

/** All paths of an endpoint: its own, then its aliases. */
export function pathsOf(endpoint: EndpointDeclaration): string[] {
  return [endpoint.path, ...(endpoint.aliases ?? [])];
}

export function exampleAt(endpoint: EndpointDeclaration, path: string): string {
  return endpoint.example.replace(`$base${endpoint.path}`, () => `$base${path}`);
}

/** The schema of the body of an answer with status 200. It has `ok`, unless the endpoint has a media type of its own. */
export function replySchema(endpoint: EndpointDeclaration, schemas: Schemas): Schema {
  const shape = replyShape(endpoint);
  return shape === undefined ? TEXT : schemas.object(shape);
}

/** The shape of the body of an answer with status 200. Undefined for a body that is not JSON. */
function replyShape({ mediaType, reply }: EndpointDeclaration): z.ZodObject | undefined {
  if (mediaType === undefined) return z.object({ ok: z.literal(true), ...reply.shape });
  return JSON_MEDIA_TYPE.test(mediaType) ? reply : undefined;
}

/**
 * The schema and an example of the body of an answer with status 200. The schema of a JSON body is a component, so that generated types
 * have names.
 */
function describeReply(endpoint: EndpointDeclaration, schemas: Schemas): object {
  const shape = replyShape(endpoint);
  if (shape === undefined) return { schema: TEXT };
  const { id = `${capitalised(operationNameOf(endpoint))}Reply`, example } = endpoint.reply.meta() ?? {};
  const own = example === undefined || endpoint.mediaType !== undefined ? example : { ok: true, ...example };
  return { schema: schemas.reference(id, shape), example: own ?? exampleOf(schemas.object(shape), schemas.components) };
}

/** Matches the media type of JSON, or of a format with the suffix `+json` (RFC 6839, section 3.1). */
export const JSON_MEDIA_TYPE = /^application\/([\w.-]+\+)?json(;|$)/;

const TEXT: Schema = { type: 'string' };

/** The declaration of a variant as if it were an endpoint of its own, for OpenAPI. The service has one route for all variants. */
export function variantOf(endpoint: EndpointDeclaration, variant: OperationVariant): EndpointDeclaration {
  const { value, ...declared } = variant;
  const parameter = Object.keys(endpoint.params!.shape).at(-1)!;
  return {
    ...endpoint,
    ...declared,
    path: endpoint.path.replace(`{${parameter}}`, value),
    params: z.object(Object.fromEntries(Object.entries(endpoint.params!.shape).filter(([name]) => name !== parameter))),
    keyScope: variant.takesKey === false ? undefined : endpoint.keyScope,
    description: undefined,
  };
}

/** The operation of an endpoint. @param refusals the parts of the document to which the endpoint's refusals are added */
export function describeOperation(declared: EndpointDeclaration, schemas: Schemas, refusals: Refusals): object {
  const endpoint = withAccountNames(declared);
  const parameters = describeParameters(endpoint, schemas);
  return {
    ...(parameters.length === 0 ? {} : { parameters }),
    ...describeBody(endpoint, schemas),
    responses: { 200: describeSuccess(endpoint, schemas), ...describeNotModified(endpoint), ...describeRefusals(endpoint, refusals) },
    security: securityOf(endpoint),
  };
}

/**
 * Describes the body of requests. Its schema is a component, like the schema of a reply, because a generator would call a schema without a
 * name `InlineObject6`.
 */
function describeBody(endpoint: EndpointDeclaration, schemas: Schemas): object {
  if (endpoint.body === undefined) return {};
  const object = schemas.object(endpoint.body);
  const schema = schemas.component(`${capitalised(operationNameOf(endpoint))}Request`, withoutOptionalNull(object));
  const mediaType = endpoint.form === true ? 'application/x-www-form-urlencoded' : 'application/json';
  return { requestBody: { required: endpoint.emptyBody !== true || object.required !== undefined, content: { [mediaType]: { schema } } } };
}

/**
 * The same schema, in which each optional field that takes any JSON is described as an object. Generated clients in C# and Java send null
 * for an unset field of any type, and the service would take that null as a merge patch or as the state of a room. An unset field of type
 * object is left out. The description allows any members, because generators for TypeScript turn an object without a description of its
 * members into an empty type.
 */
function withoutOptionalNull({ properties, ...schema }: ObjectSchema): ObjectSchema {
  const fields = Object.entries(properties).map(([name, property]): [string, Schema] => {
    const isAny = ['type', '$ref', 'allOf', 'anyOf', 'oneOf'].every((word) => !(word in property));
    if (!isAny || schema.required?.includes(name) === true) return [name, property];
    const description = [property['description'], 'It is described as an object for generated clients, but any JSON value is allowed.'];
    return [
      name,
      { ...property, type: 'object', additionalProperties: true, description: description.filter((text) => text !== undefined).join(' ') },
    ];
  });
  return { ...schema, properties: Object.fromEntries(fields) };
}

function securityOf(endpoint: EndpointDeclaration): object[] {
  const keyless = {
    none: endpoint.keyScope === undefined ? [] : [{}],
    'session (optional)': [{}, { session: [] }, { bearer: [] }],
    'session (required)': [{ session: [] }, { bearer: [] }],
  }[authOf(endpoint)];
  return endpoint.keyScope === undefined ? keyless : [...keyless, { serverKey: [] }];
}

/** The endpoint with the additional fields by which a request with a server key names its account. */
function withAccountNames(endpoint: EndpointDeclaration): EndpointDeclaration {
  if (endpoint.keyScope === undefined || endpoint.caller === 'none' || endpoint.keyNeedsAccount === false) return endpoint;
  const place = endpoint.method === 'GET' ? 'query' : 'body';
  const { accountId, installId } = AccountNames.shape;
  const names = 'installId' in (endpoint[place]?.shape ?? {}) ? { accountId } : { accountId, installId };
  return { ...endpoint, [place]: (endpoint[place] ?? z.object({})).extend(names) };
}

function describeParameters(endpoint: EndpointDeclaration, schemas: Schemas): object[] {
  const parameters: object[] = [];
  for (const place of ['path', 'query'] as const) {
    const shape = place === 'path' ? endpoint.params : endpoint.query;
    if (shape === undefined) continue;
    const { properties, required = [], additionalProperties }: ObjectSchema = schemas.object(shape);
    for (const [name, { description, ...schema }] of Object.entries(properties)) {
      parameters.push({
        name,
        in: place,
        required: place === 'path' || required.includes(name),
        ...(description === undefined ? {} : { description }),
        schema: withoutWrapper(schema),
      });
    }
    if (additionalProperties !== undefined) parameters.push(describeOtherParameters(additionalProperties as Schema));
  }
  const query = endpoint.query?.shape ?? {};
  const place = 'installId' in query ? 'query' : 'body';
  const headers = {
    ...('installId' in { ...query, ...endpoint.body?.shape } && endpoint.caller !== 'none'
      ? { 'x-install-id': `In place of \`installId\` in the ${place}, which must be the same if both are sent.` }
      : {}),
    ...('deviceId' in query ? { 'x-device-id': 'In place of `deviceId` in the query.' } : {}),
    ...endpoint.headers,
  };
  for (const [name, description] of Object.entries(headers))
    parameters.push({ name, in: 'header', required: false, description, schema: TEXT });
  return parameters;
}

/**
 * Describes query parameters that may have any name as one object whose members are the parameters (style `form`, exploded). The title of
 * the schema is the name of the object.
 */
function describeOtherParameters({ title, description, example, ...schema }: Schema): object {
  return {
    name: title,
    in: 'query',
    required: false,
    style: 'form',
    explode: true,
    description,
    schema: { type: 'object', additionalProperties: schema },
    example,
  };
}

/**
 * The schema without its wrapper. zod wraps a shape that has a description of its own into an `allOf`; in a parameter, the description
 * belongs to the parameter.
 */
function withoutWrapper(schema: Schema): Schema {
  const [wrapped, ...others] = (schema['allOf'] ?? []) as Schema[];
  return wrapped !== undefined && others.length === 0 && Object.keys(schema).length === 1 ? wrapped : schema;
}

function describeSuccess(endpoint: EndpointDeclaration, schemas: Schemas): object {
  const mediaType = endpoint.mediaType?.split(';')[0] ?? 'application/json';
  return {
    description: 'Done.',
    headers: { ...REQUEST_ID, ...(mayBeNotModified(endpoint) ? { etag: { $ref: '#/components/headers/ETag' } } : {}) },
    content: {
      [mediaType]: describeReply(endpoint, schemas),
      ...(endpoint.pageUnless === undefined ? {} : { 'text/html': { schema: TEXT } }),
      ...Object.fromEntries((endpoint.otherMediaTypes ?? []).map((other) => [other.split(';')[0]!, { schema: TEXT }])),
    },
  };
}

function mayBeNotModified({ headers = {} }: EndpointDeclaration): boolean {
  return 'if-none-match' in headers;
}

function describeNotModified(endpoint: EndpointDeclaration): object {
  return mayBeNotModified(endpoint)
    ? { 304: { description: 'Not changed since the `If-None-Match` of the request.', headers: REQUEST_ID } }
    : {};
}
