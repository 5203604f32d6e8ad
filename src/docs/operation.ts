import { z } from 'zod';
import { errors, type ErrorCode } from '../errors.ts';
import { authOf, declaredErrors, type EndpointDeclaration } from '../server/http/endpoint.ts';
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
  if (endpoint.mediaType === undefined) return schemas.object(z.object({ ok: z.literal(true), ...endpoint.reply.shape }));
  return JSON_MEDIA_TYPE.test(endpoint.mediaType) ? schemas.object(endpoint.reply) : TEXT;
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
  return words.length === 0 ? 'Root' : words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
}

/** `POST /v1/coins/credit` becomes `postCoinsCredit`: generated clients name their methods after operation ids. */
export function operationIdOf(method: string, path: string, taken: Set<string>): string {
  let id = method.toLowerCase() + nameOf(path);
  // `/login` is an alias of `/v1/login`.
  while (taken.has(id)) id += 'Alias';
  taken.add(id);
  return id;
}

export function describeOperation(endpoint: EndpointDeclaration, schemas: Schemas): object {
  const parameters = describeParameters(endpoint, schemas);
  return {
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(endpoint.body === undefined
      ? {}
      : {
          requestBody: {
            required: endpoint.emptyBody !== true,
            content: {
              [endpoint.form === true ? 'application/x-www-form-urlencoded' : 'application/json']: {
                schema: schemas.object(endpoint.body),
              },
            },
          },
        }),
    responses: { 200: describeSuccess(endpoint, schemas), ...describeNotModified(endpoint), ...describeRefusals(endpoint) },
    security: {
      none: [],
      'session (optional)': [{}, { session: [] }, { bearer: [] }],
      'session (required)': [{ session: [] }, { bearer: [] }],
    }[authOf(endpoint)],
  };
}

function describeParameters(endpoint: EndpointDeclaration, schemas: Schemas): object[] {
  const parameters: object[] = [];
  for (const place of ['path', 'query'] as const) {
    const shape = place === 'path' ? endpoint.params : endpoint.query;
    if (shape === undefined) continue;
    const { properties, required = [] }: ObjectSchema = schemas.object(shape);
    for (const [name, { description, ...schema }] of Object.entries(properties)) {
      parameters.push({
        name,
        in: place,
        required: place === 'path' || required.includes(name),
        ...(description === undefined ? {} : { description }),
        schema,
      });
    }
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

function describeSuccess(endpoint: EndpointDeclaration, schemas: Schemas): object {
  const mediaType = endpoint.mediaType?.split(';')[0] ?? 'application/json';
  return {
    description: 'Done.',
    headers: { ...REQUEST_ID, ...(mayBeNotModified(endpoint) ? { etag: { $ref: '#/components/headers/ETag' } } : {}) },
    content: {
      [mediaType]: { schema: replySchema(endpoint, schemas) },
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

/** A response for each status, with the endpoint's error codes of that status. */
function describeRefusals(endpoint: EndpointDeclaration): object {
  const byStatus = Map.groupBy(declaredErrors(endpoint), (code) => errors[code].status);
  const responses = [...byStatus].map(([status, codes]) => [
    status,
    {
      description: codes.map((code) => `\`${code}\`: ${errors[code].message}`).join('\n\n'),
      headers: {
        ...REQUEST_ID,
        ...(status === 429 || status === 503 ? { 'retry-after': { $ref: '#/components/headers/RetryAfter' } } : {}),
      },
      content: { 'application/json': { schema: { allOf: [{ $ref: '#/components/schemas/Error' }, onlyCodes(codes)] } } },
    },
  ]);
  return Object.fromEntries(responses) as object;
}

function onlyCodes(codes: ErrorCode[]): Schema {
  return { type: 'object', properties: { error: { type: 'object', properties: { code: { type: 'string', enum: codes } } } } };
}
