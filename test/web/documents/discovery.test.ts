import { expect, test } from 'vitest';
import { api } from '../../../src/api.ts';
import type { ListedEndpoint } from '../../../src/web/documents/discovery.ts';
import { forFile, start } from '../../harness.ts';
import { interfaceEndpoints } from '../../interface.ts';

const service = await forFile(start());
const endpoints: ListedEndpoint[] = (await service.get('/?format=json')).body.endpoints;

const listed = (method: string, path: string) => endpoints.find((endpoint) => endpoint.method === method && endpoint.path === path);

test('GET /?format=json names the service and the path of its OpenAPI document', async () => {
  const { body, headers } = await service.get('/?format=json');
  expect({ ...body, endpoints: undefined }).toEqual({ ok: true, service: 'coinop', openapi: '/openapi.json' });
  expect(headers.get('cache-control')).toBe('public, max-age=60');
});

test.each(interfaceEndpoints)('lists $method $path of the documented interface with auth $auth', ({ method, path, auth }) => {
  expect(listed(method, path)?.auth).toBe(auth);
});

test('lists every endpoint and alias once', () => {
  const lines = endpoints.map(({ method, path }) => `${method} ${path}`);
  expect(new Set(lines).size).toBe(lines.length);
  for (const { method, path, aliases = [] } of api) {
    for (const each of [path, ...aliases]) expect(lines).toContain(`${method} ${each}`);
  }
});

test('every example is a curl command for its own path', () => {
  for (const { method, path, example } of endpoints) {
    const [bare] = path.split('?');
    const source = bare!.replace(/[.?]/g, '\\$&').replace(/\{\w+\}/g, '[^/\\s"?]+');
    // The last command counts. An example may first fetch a value that it needs.
    const command = example.split('; ').at(-1)!;
    expect(command, `${method} ${path}`).toMatch(new RegExp(`^curl .*\\$base${source}(["\\s?]|$)`));
    expect(/ -d | -X POST /.test(command), `${method} ${path}`).toBe(method === 'POST');
  }
});

test('the request schema names the fields and the place of each', () => {
  expect(listed('GET', '/v1/balance')!.request).toMatchObject({
    type: 'object',
    properties: { installId: { type: 'string', 'x-in': 'query' } },
  });
  expect(listed('POST', '/v1/coins/credit')!.request).toMatchObject({
    type: 'object',
    properties: {
      installId: { 'x-in': 'body' },
      coins: { type: 'integer', minimum: 1, maximum: 1_000_000, 'x-in': 'body' },
      key: { type: 'string' },
    },
    required: ['coins', 'key'],
  });
  expect(listed('GET', '/v1/rooms/{code}')!.request).toMatchObject({ properties: { code: { 'x-in': 'path' } }, required: ['code'] });
  expect(listed('GET', '/health')!.request).toEqual({ type: 'object', properties: {} });
});

test('no field of a request is in two places', () => {
  for (const { method, path, params, query, body } of api) {
    const fields = [params, query, body].flatMap((shape) => Object.keys(shape?.shape ?? {}));
    expect(new Set(fields).size, `${method} ${path}`).toBe(fields.length);
  }
});

test('the response schema describes the reply', () => {
  expect(listed('GET', '/health')!.response).toEqual({
    type: 'object',
    properties: { ok: { type: 'boolean', description: 'Always `true`.' }, service: { type: 'string', example: 'coinop' } },
    required: ['ok', 'service'],
  });
  expect(listed('GET', '/metrics')!.response).toEqual({ type: 'string' });
  expect(listed('GET', '/')!.response).toMatchObject({ type: 'string' });
});

test('references of the response schema point to components of the OpenAPI document', async () => {
  const { body } = await service.get('/openapi.json');
  const references = [...JSON.stringify(endpoints).matchAll(/"\$ref":"([^"]*)"/g)];
  expect(references.length).toBeGreaterThan(0);
  for (const [, name] of references) {
    const [document, pointer] = name!.split('#/components/schemas/');
    expect(document).toBe('/openapi.json');
    expect(body.components.schemas).toHaveProperty(pointer!);
  }
});
