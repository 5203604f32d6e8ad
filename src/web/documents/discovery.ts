import { authOf, type EndpointDeclaration } from '../../server/http/endpoint.ts';
import type { Features } from './openapi.ts';
import { exampleAt, pathsOf, replySchema } from './operation.ts';
import type { Schema, Schemas } from './schemas.ts';

export interface ListedEndpoint {
  method: string;
  path: string;
  auth: string;
  summary: string;
  request: Schema;
  response: Schema;
  example: string;
}

/** The list of endpoints: one item for every endpoint and every alias, with the schemas of the OpenAPI document. */
export function discoveryList(features: Features, schemas: Schemas): ListedEndpoint[] {
  return Object.values(features)
    .flat()
    .flatMap((endpoint) => list(endpoint, schemas));
}

function list(endpoint: EndpointDeclaration, schemas: Schemas): ListedEndpoint[] {
  const { method, summary } = endpoint;
  const auth = authOf(endpoint);
  const response = withOpenapiReferences(replySchema(endpoint, schemas));
  const request = withOpenapiReferences(requestSchema(endpoint, schemas));
  const lines = pathsOf(endpoint).map((path) => ({ method, path, auth, summary, request, response, example: exampleAt(endpoint, path) }));
  if (endpoint.pageUnless === undefined) return lines;
  // The HTML page and the JSON list have the same path and differ in the query. Each gets an item.
  const asked = lines.map((line) => ({ ...line, path: `${line.path}?${endpoint.pageUnless}` }));
  const pages = lines.map((line) => ({
    ...line,
    response: { type: 'string', description: 'An HTML page.' },
    example: `curl -s $base${line.path}`,
  }));
  return [...pages, ...asked];
}

/** The path parameters, the query and the body as one object schema. `x-in` on a field says where the field belongs. */
function requestSchema(endpoint: EndpointDeclaration, schemas: Schemas): Schema {
  const properties: Record<string, Schema> = {};
  const required: string[] = [];
  for (const [place, shape] of [
    ['path', endpoint.params],
    ['query', endpoint.query],
    ['body', endpoint.body],
  ] as const) {
    if (shape === undefined) continue;
    const schema = schemas.object(shape);
    for (const [name, property] of Object.entries(schema.properties)) properties[name] = { ...property, 'x-in': place };
    required.push(...(schema.required ?? []));
  }
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) };
}

/** The same schema, with references into the OpenAPI document, because the list itself has no components. */
function withOpenapiReferences(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"/openapi.json#/')) as Schema;
}
