import { z } from 'zod';
import { errors, type ErrorCode } from '../../errors.ts';
import { AccountNames } from '../../server/http/server-key-credential.ts';
import { authOf, declaredErrors, type EndpointDeclaration, type OperationVariant } from '../../server/http/endpoint.ts';
import { errorExample, exampleOf } from './examples.ts';
import type { ObjectSchema, Schema, Schemas } from './schemas.ts';

/** The endpoint's own path, then its aliases. */
export function pathsOf(endpoint: EndpointDeclaration): string[] {
  return [endpoint.path, ...(endpoint.aliases ?? [])];
}

export function exampleAt(endpoint: EndpointDeclaration, path: string): string {
  return endpoint.example.replace(`$base${endpoint.path}`, () => `$base${path}`);
}

/** Schema of a 200's body. It includes `ok`, unless the endpoint has a media type of its own. */
export function replySchema(endpoint: EndpointDeclaration, schemas: Schemas): Schema {
  const shape = replyShape(endpoint);
  return shape === undefined ? TEXT : schemas.object(shape);
}

/** Undefined for a reply that is no JSON. */
function replyShape({ mediaType, reply }: EndpointDeclaration): z.ZodObject | undefined {
  if (mediaType === undefined) return z.object({ ok: z.literal(true), ...reply.shape });
  return JSON_MEDIA_TYPE.test(mediaType) ? reply : undefined;
}

/** Schema and example of a 200's body. The schema of JSON is a component: generated types have names then. */
function describeReply(endpoint: EndpointDeclaration, schemas: Schemas): object {
  const shape = replyShape(endpoint);
  if (shape === undefined) return { schema: TEXT };
  const { id = `${capitalised(operationNameOf(endpoint))}Reply`, example } = endpoint.reply.meta() ?? {};
  const own = example === undefined || endpoint.mediaType !== undefined ? example : { ok: true, ...example };
  return { schema: schemas.reference(id, shape), example: own ?? exampleOf(schemas.object(shape), schemas.components) };
}

/** JSON, or a format with the `+json` suffix (RFC 6839, section 3.1). */
export const JSON_MEDIA_TYPE = /^application\/([\w.-]+\+)?json(;|$)/;

const TEXT: Schema = { type: 'string' };

const REQUEST_ID = { 'x-request-id': { $ref: '#/components/headers/RequestId' } };

/** `/v1/rooms/{code}/live` becomes `RoomsByCodeLive`. */
export function nameOf(path: string): string {
  const words = path
    .replace(/^\/v1\//, '/')
    .replace(/\{(\w+)\}/g, 'by/$1')
    .split(/\W+/)
    .filter((word) => word !== '');
  return words.length === 0 ? 'Root' : words.map(capitalised).join('');
}

/** `POST /v1/coins/credit` becomes `postCoinsCredit`. */
export function operationIdOf(method: string, path: string, taken: Set<string>): string {
  return unique(method.toLowerCase() + nameOf(path), taken);
}

/** An id that is not taken yet. Generated clients name their methods after operation ids. */
export function unique(id: string, taken: Set<string>): string {
  let free = id;
  // `/login` is an alias of `/v1/login`.
  for (let count = 2; taken.has(free); count++) free = count === 2 ? `${id}Alias` : `${id}Alias${count - 1}`;
  taken.add(free);
  return free;
}

export function operationNameOf({ operationId, method, path }: EndpointDeclaration): string {
  return operationId ?? method.toLowerCase() + nameOf(path);
}

/** What OpenAPI says of a variant, as if it were an endpoint. The service has one route for all of them. */
export function variantOf(endpoint: EndpointDeclaration, variant: OperationVariant): EndpointDeclaration {
  const { value, ...declared } = variant;
  const parameter = Object.keys(endpoint.params!.shape).at(-1)!;
  return {
    ...endpoint,
    ...declared,
    path: endpoint.path.replace(`{${parameter}}`, value),
    params: z.object(Object.fromEntries(Object.entries(endpoint.params!.shape).filter(([name]) => name !== parameter))),
    errors: endpoint.errors?.filter((code) => code !== 'unknown_action'),
    keyScope: variant.takesKey === false ? undefined : endpoint.keyScope,
    description: undefined,
  };
}

function capitalised(word: string): string {
  return word[0]!.toUpperCase() + word.slice(1);
}

/** @param refusals responses of the document's components; those of the endpoint's errors are added to it */
export function describeOperation(declared: EndpointDeclaration, schemas: Schemas, refusals: Record<string, object>): object {
  const endpoint = withAccountNames(declared);
  const parameters = describeParameters(endpoint, schemas);
  return {
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(endpoint.body === undefined
      ? {}
      : {
          requestBody: {
            required: endpoint.emptyBody !== true || schemas.object(endpoint.body).required !== undefined,
            content: {
              [endpoint.form === true ? 'application/x-www-form-urlencoded' : 'application/json']: {
                schema: schemas.object(endpoint.body),
              },
            },
          },
        }),
    responses: { 200: describeSuccess(endpoint, schemas), ...describeNotModified(endpoint), ...describeRefusals(endpoint, refusals) },
    security: securityOf(endpoint),
  };
}

function securityOf(endpoint: EndpointDeclaration): object[] {
  const keyless = {
    none: endpoint.keyScope === undefined ? [] : [{}],
    'session (optional)': [{}, { session: [] }, { bearer: [] }],
    'session (required)': [{ session: [] }, { bearer: [] }],
  }[authOf(endpoint)];
  return endpoint.keyScope === undefined ? keyless : [...keyless, { serverKey: [] }];
}

/** The endpoint with the fields by which a request with a server key names the account. */
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

/** Query parameters of any name: one object whose members are parameters (style `form`, exploded). Its title names it. */
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

/** zod wraps the reference of a shape with a description of its own into an `allOf`. Here the description is the parameter's. */
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

/** A response for each status, with the endpoint's error codes of that status. Endpoints with the same codes share it. */
function describeRefusals(endpoint: EndpointDeclaration, refusals: Record<string, object>): object {
  const declared = new Set(declaredErrors(endpoint));
  // The headers of any request may be malformed (request-headers.ts). Where nothing else is refused, that is the only code.
  if (![...declared].some((code) => errors[code].status < 500)) declared.add('invalid_request');
  const inOrder = (Object.keys(errors) as ErrorCode[]).filter((code) => declared.has(code));
  const responses = [...Map.groupBy(inOrder, (code) => errors[code].status)].map(([status, codes]) => {
    const name = codes.map((code) => code.split('_').map(capitalised).join('')).join('Or');
    refusals[name] ??= describeRefusal(status, codes);
    return [status, { $ref: `#/components/responses/${name}` }];
  });
  return Object.fromEntries(responses) as object;
}

function describeRefusal(status: number, codes: readonly ErrorCode[]): object {
  return {
    description: codes.map((code) => `\`${code}\`: ${errors[code].message}`).join('\n\n'),
    headers: {
      ...REQUEST_ID,
      ...(status === 429 || status === 503 ? { 'retry-after': { $ref: '#/components/headers/RetryAfter' } } : {}),
    },
    content: {
      'application/json': {
        schema: errorSchema(codes),
        examples: Object.fromEntries(codes.map((code) => [code, { value: errorExample(code) }])),
      },
    },
  };
}

/** The body of a refusal with one of these codes. */
function errorSchema(codes: readonly ErrorCode[]): Schema {
  const ofCodes = { type: 'object', required: ['code'], properties: { code: { type: 'string', enum: codes } } };
  return errorReply({ allOf: [{ $ref: '#/components/schemas/ErrorDetails' }, ofCodes] });
}

/** @param error schema of the field `error` */
export function errorReply(error: Schema): Schema {
  return {
    type: 'object',
    required: ['ok', 'error', 'requestId'],
    properties: {
      ok: { type: 'boolean', enum: [false] },
      error,
      requestId: { type: 'string', description: 'The same as the header x-request-id.' },
    },
  };
}
