import { expect, test } from 'vitest';
import { api } from '../../api.ts';
import type { ListedEndpoint } from '../../../src/web/documents/discovery.ts';
import { forFile, start } from '../../harness.ts';
import { interfaceEndpoints } from '../../interface.ts';

const service = await forFile(start());
const { body, headers } = await service.get('/?format=json');
const endpoints: ListedEndpoint[] = body.endpoints;

const listed = (method: string, path: string) => endpoints.find((endpoint) => endpoint.method === method && endpoint.path === path);

test('GET /?format=json names the service, its OpenAPI document, and every endpoint and alias once', () => {
  expect({ ...body, endpoints: undefined }).toEqual({ ok: true, service: 'coinop', openapi: '/openapi.json' });
  expect(headers.get('cache-control')).toBe('public, max-age=60');
  const lines = endpoints.map(({ method, path }) => `${method} ${path}`);
  expect(new Set(lines).size).toBe(lines.length);
  for (const { method, path, aliases = [] } of api) for (const each of [path, ...aliases]) expect(lines).toContain(`${method} ${each}`);
});

test('the endpoints of the documented interface are listed with their auth', () => {
  const auths = interfaceEndpoints.map(({ method, path }) => listed(method, path)?.auth);
  expect(auths).toEqual(interfaceEndpoints.map(({ auth }) => auth));
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

test('a request names its fields and the place of each, which is one', () => {
  expect(listed('GET', '/v1/balance')!.request).toMatchObject({ properties: { installId: { type: 'string', 'x-in': 'query' } } });
  expect(listed('POST', '/v1/coins/credit')!.request).toMatchObject({
    properties: { coins: { type: 'integer', minimum: 1, maximum: 1_000_000, 'x-in': 'body' }, key: { type: 'string' } },
    required: ['coins', 'key'],
  });
  expect(listed('GET', '/v1/rooms/{code}')!.request).toMatchObject({ properties: { code: { 'x-in': 'path' } }, required: ['code'] });
  for (const { method, path, params, query, body: sent } of api) {
    const fields = [params, query, sent].flatMap((shape) => Object.keys(shape?.shape ?? {}));
    expect(new Set(fields).size, `${method} ${path}`).toBe(fields.length);
  }
});

test('references of the replies lead to components of the OpenAPI document', async () => {
  const document = (await service.get('/openapi.json')).body;
  const references = [...JSON.stringify(endpoints).matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference!.split('/').at(-1));
  expect(references.length).toBeGreaterThan(0);
  expect(references.filter((name) => !(name! in document.components.schemas))).toEqual([]);
});
