// The calls of a client and the types of their inputs and replies, read from the OpenAPI document: what the generator of each language writes
// out. `calls.json` names the calls; `!` marks one that must not be repeated after a lost answer.
import { readFileSync } from 'node:fs';

const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));

/** Fields that a client adds by itself, or that only a server with a key sends. */
const OWN = ['installId', 'accountId', 'session', 'order', 'tab', 'seatless'];

/** Fields that a client fills in if the game does not. */
const FILLED = ['key'];

/** Calls that a part of each client makes, with more than a request: it plays in the room of a match, and keeps a save. */
const PARTS = ['rooms.match', 'saves.load', 'saves.save'];

/** Endpoints that no client of a player calls, by what they are for. */
export const others = {
  pages: /^GET \/($|docs|llms|pages|client|rooms\.js|saves\.js|pair$|openapi|asyncapi|\.well-known|v1\/pair\/qr)/,
  operators: /^GET \/(health|ready|metrics)$/,
  'app stores': /^POST \/v1\/store\//,
  'servers with a key': /^(POST \/v1\/sessions\/verify|GET \/v1\/events|POST \/v1\/rooms\/\{code\}\/ticket\/verify)$/,
  'other names of the same': /^(POST \/login|GET \/v1\/apps|GET \/v1\/lobby\/catalogue|POST \/v1\/rooms\/\{code\}\/\{action\})$/,
};

/** The name of a feature, a call or a field as Python and GDScript write it. */
export const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export function model(document = read('../../test/web/documents/openapi.json'), names = read('calls.json')) {
  const { schemas } = document.components;
  const types = new Map();
  const pascal = (text) =>
    text.replace(/(^|[^a-zA-Z0-9])([a-z])/g, (_, __, letter) => letter.toUpperCase()).replace(/^[a-z]/, (letter) => letter.toUpperCase());

  /** @returns {kind: 'any'|'text'|'whole'|'number'|'flag'|'true'|'list'|'map'|'words'|'named', …} */
  const typeOf = (schema, name) => {
    const type = plainTypeOf(schema, name);
    return schema.nullable ? { ...type, nullable: true } : type;
  };
  const plainTypeOf = (schema, name) => {
    if (schema.$ref) {
      const to = schema.$ref.split('/').pop();
      return typeOf(schemas[to], to);
    }
    if (schema.enum) {
      if (!types.has(name)) types.set(name, { name, words: schema.enum });
      return { kind: 'named', name, isWords: true };
    }
    if (schema.type === 'array') return { kind: 'list', of: typeOf(schema.items, `${name}Item`) };
    if (schema.type === 'object' && schema.properties) {
      if (!types.has(name)) {
        // The place is taken first, because a type may contain itself.
        const made = { name, description: schema.description, fields: [] };
        types.set(name, made);
        made.fields = Object.entries(schema.properties).map(([field, part]) => ({
          name: field,
          required: schema.required?.includes(field) ?? false,
          type: field === 'ok' ? { kind: 'true' } : typeOf(part, `${name}${pascal(field)}`),
          description: part.description,
        }));
      }
      return { kind: 'named', name };
    }
    if (schema.type === 'object' && typeof schema.additionalProperties === 'object')
      return { kind: 'map', of: typeOf(schema.additionalProperties, `${name}Value`) };
    return { kind: { string: 'text', integer: 'whole', number: 'number', boolean: 'flag' }[schema.type] ?? 'any' };
  };

  const calls = Object.entries(names).map(([name, route]) => {
    const [feature, call] = name.split('.');
    const [method, path] = route.replace('!', '').split(' ');
    const endpoint = document.paths[path]?.[method.toLowerCase()];
    if (!endpoint) throw new Error(`${name}: the OpenAPI document has no ${method} ${path}`);
    const body = endpoint.requestBody?.content['application/json'].schema;
    const whole = body?.$ref ? schemas[body.$ref.split('/').pop()] : body;
    const base = `${pascal(feature)}${pascal(call)}`;
    const given = [
      ...(endpoint.parameters ?? [])
        .filter((parameter) => ['path', 'query'].includes(parameter.in))
        .map(({ name: field, required, schema, description }) => ({ field, required, schema, description })),
      ...Object.entries(whole?.properties ?? {}).map(([field, schema]) => ({
        ...{ field, schema, required: whole.required?.includes(field), description: schema.description },
      })),
    ];
    if (name === 'pairing.status') given.push({ field: 'secret', schema: { type: 'string' }, required: false });
    const fields = given
      .filter(({ field }) => !OWN.includes(field))
      .map(({ field, schema, required, description }) => ({
        ...{
          name: field,
          required: Boolean(required) && !FILLED.includes(field),
          description,
          type: typeOf(schema, `${base}${pascal(field)}`),
        },
      }));
    const reply = endpoint.responses['200'].content['application/json'].schema;
    return {
      ...{ name, feature, call, route, summary: endpoint.summary, fields },
      reply: typeOf(reply, `${base}Reply`).name,
      isPart: PARTS.includes(name),
    };
  });
  plainTypeOf(schemas.ErrorDetails, 'ErrorDetails');
  return { version: document.info.version, calls, types: [...types.values()] };
}

/** The endpoints of the document that no call reaches, although they are none of `others`. */
export function missing(document = read('../../test/web/documents/openapi.json'), names = read('calls.json')) {
  const reached = new Set(Object.values(names).map((route) => route.replace('!', '')));
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  return all.filter((route) => !reached.has(route) && !Object.values(others).some((pattern) => pattern.test(route)));
}
