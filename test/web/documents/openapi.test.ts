import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { api } from '../../../src/api.ts';
import { errors } from '../../../src/errors.ts';
import { declaredErrors } from '../../../src/server/http/endpoint.ts';
import { forFile, freshId, signIn, start, type TestReply } from '../../harness.ts';
import { interfaceEndpoints } from '../../interface.ts';
import { OpenapiDocument, ROOM_ACTIONS } from './openapi-document.ts';

// `any`: the document is read without types, as a client reads it.
// oxlint-disable-next-line no-explicit-any
const service = await forFile(start());
const document = (await service.get('/openapi.json')).body;
const openapi = new OpenapiDocument(document);

describe('GET /openapi.json', () => {
  test('is valid OpenAPI 3.0.3', async () => {
    expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
    expect([document.openapi, document.info.title, document.info.version]).toEqual(['3.0.3', 'coinop', '1']);
  });

  test('answers with the bare document, cacheable for a minute, and answers HEAD', async () => {
    const { headers } = await service.get('/openapi.json');
    expect([headers.get('content-type'), headers.get('cache-control')]).toEqual(['application/json', 'public, max-age=60']);
    expect(document).not.toHaveProperty('ok');
    expect((await service.get('/openapi.json', { method: 'HEAD' })).status).toBe(200);
  });

  test('has every endpoint of the documented interface with its auth', () => {
    const [session, bearer] = [{ session: [] }, { bearer: [] }];
    const security = { none: [], 'session (optional)': [{}, session, bearer], 'session (required)': [session, bearer] };
    for (const { method, path, auth } of interfaceEndpoints) {
      const operation = document.paths[path.split('?')[0]!]?.[method.toLowerCase()];
      expect(operation, `${method} ${path}`).toBeDefined();
      // The auth is that of callers without a key. Servers of the operator may also call some endpoints with a key.
      const keyless = operation.security.filter((scheme: object) => !('serverKey' in scheme));
      const given = auth === 'none' && keyless.length < operation.security.length ? [{}] : security[auth as keyof typeof security];
      expect(keyless, `${method} ${path}`).toEqual(given);
    }
  });

  test('shows which endpoints take a server key, and how such a request names the account', () => {
    const { post } = document.paths['/v1/coins/credit'];
    expect(post.security).toEqual([{}, { session: [] }, { bearer: [] }, { serverKey: [] }]);
    expect(post.description).toContain('A server key with the scope `coins` may call too.');
    expect(openapi.body(post).properties.accountId).toMatchObject({ pattern: '^[\\w-]{22}$' });
    const { get } = document.paths['/v1/coins/history'];
    expect(get.security).toEqual([{ session: [] }, { bearer: [] }, { serverKey: [] }]);
    expect(get.parameters.map(({ name }: { name: string }) => name)).toEqual(['limit', 'cursor', 'accountId', 'installId', 'x-install-id']);
    expect(document.paths['/v1/sessions/verify'].post.security).toEqual([{}, { serverKey: [] }]);
    expect(document.components.securitySchemes.serverKey).toMatchObject({ type: 'http', scheme: 'bearer' });
  });

  test('has exactly the declared endpoints and aliases without those of the sandbox, and a path for each action of a room', () => {
    const written = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(written.toSorted()).toEqual(
      [
        ...openapi.declared.map(({ endpoint, path }) => `${endpoint.method} ${path}`),
        ...ROOM_ACTIONS.map((action) => `POST /v1/rooms/{code}/${action}`),
      ].toSorted(),
    );
  });

  test('gives every operation a unique short id', () => {
    const ids = openapi.operations.map(({ operation }) => operation.operationId as string);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z0-9]{3,26}$/);
    const idOf = (method: string, path: string) => document.paths[path][method].operationId;
    expect(idOf('post', '/v1/coins/credit')).toBe('creditCoins');
    expect(idOf('post', '/v1/rooms')).toBe('createRoom');
    expect(idOf('post', '/v1/rooms/{code}/join')).toBe('joinRoom');
    expect([idOf('post', '/v1/login'), idOf('post', '/login')]).toEqual(['login', 'loginAlias']);
    expect([idOf('get', '/v1/apps'), idOf('get', '/v1/lobby/catalogue')]).toEqual(['getCatalogueAlias', 'getCatalogueAlias2']);
  });

  test('every endpoint declares the id of its operation', () => {
    expect(api.filter(({ operationId }) => operationId === undefined).map(({ path }) => path)).toEqual([]);
  });

  test('describes every tag', () => {
    const used = new Set(openapi.operations.flatMap(({ operation }) => operation.tags as string[]));
    expect(new Set(document.tags.map(({ name }: { name: string }) => name))).toEqual(used);
    for (const { name, description } of document.tags) expect([name, description]).toEqual([name, expect.stringMatching(/\w+ \w+/)]);
  });

  test('lists the error codes of every endpoint under their statuses', () => {
    for (const { endpoint, path, operation } of openapi.declared) {
      const listed = Object.keys(operation.responses)
        .filter((status) => Number(status) >= 400)
        .flatMap((status) => {
          return openapi.codes(operation, status).map((code) => {
            expect(errors[code as keyof typeof errors].status, code).toBe(Number(status));
            return code;
          });
        });
      const declared = declaredErrors(endpoint);
      // Any request may have malformed headers. The error is listed if the endpoint has no other refusal of a request.
      const expected = declared.some((code) => errors[code].status < 500) ? declared : [...declared, 'invalid_request'];
      expect(listed.toSorted(), `${endpoint.method} ${path}`).toEqual(expected.toSorted());
    }
    const debit = document.paths['/v1/coins/debit'].post;
    expect(openapi.codes(debit, 409)).toContain('insufficient_coins');
    expect(openapi.codes(debit, 422)).toEqual(['key_reused']);
  });

  test('documents retry-after on 429 and 503', () => {
    const operation = document.paths['/v1/balance'].get;
    expect(Object.keys(openapi.response(operation, 429).headers)).toEqual(['x-request-id', 'retry-after']);
    expect(Object.keys(openapi.response(operation, 503).headers)).toEqual(['x-request-id', 'retry-after']);
    expect(Object.keys(openapi.response(operation, 401).headers)).toEqual(['x-request-id']);
  });

  test('documents the path parameters of every path', () => {
    for (const { path, operation } of openapi.declared) {
      const named = (operation.parameters ?? [])
        .filter((parameter: { in: string }) => parameter.in === 'path')
        .map(({ name }: { name: string }) => name);
      expect(named, path).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    }
  });

  test('documents installId in query and header for a GET', () => {
    const parameters = document.paths['/v1/balance'].get.parameters.map(({ name, in: place, required }: any) => [name, place, required]);
    expect(parameters).toEqual([
      ['installId', 'query', false],
      ['accountId', 'query', false],
      ['x-install-id', 'header', false],
    ]);
  });

  test('requires a body only when it has required fields', () => {
    expect(document.paths['/v1/coins/credit'].post.requestBody.required).toBe(true);
    expect(openapi.body(document.paths['/v1/coins/credit'].post).required).toEqual(['coins', 'key']);
    expect(document.paths['/v1/logout'].post.requestBody.required).toBe(false);
    expect(document.paths['/health'].get).not.toHaveProperty('requestBody');
  });

  test('documents media types other than JSON, ETags and 304', () => {
    expect(Object.keys(document.paths['/metrics'].get.responses[200].content)).toEqual(['text/plain']);
    expect(Object.keys(document.paths['/'].get.responses[200].content)).toEqual(['application/json', 'text/html']);
    const { responses } = document.paths['/v1/catalogue'].get;
    expect(Object.keys(responses)).toContain('304');
    expect(Object.keys(responses[200].headers)).toEqual(['x-request-id', 'etag']);
    expect(Object.keys(document.paths['/health'].get.responses)).toEqual(['200', '400', 'default']);
  });
});

describe('the schemas of /openapi.json', () => {
  test('all compile', () => {
    const found: object[] = [];
    const look = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      for (const [key, below] of Object.entries(value)) {
        if (key === 'schema') found.push(below as object);
        else look(below);
      }
    };
    look(document.paths);
    look(document.components.responses);
    // On average more than two schemas an endpoint, so that the search above cannot miss most of them.
    expect(found.length).toBeGreaterThan(api.length * 2);
    for (const schema of [...found, ...Object.values<object>(document.components.schemas)]) {
      expect(() => openapi.validator(schema), JSON.stringify(schema)).not.toThrow();
    }
  });

  test('match real replies', async () => {
    const installId = freshId();
    const cookies = await signIn(service, installId);
    const credit = { installId, coins: 10, key: 'a' };
    const replies: [method: string, path: string, reply: TestReply][] = [
      ['get', '/health', await service.get('/health')],
      ['get', '/', await service.get('/?format=json')],
      ['get', '/openapi.json', await service.get('/openapi.json')],
      ['post', '/v1/coins/credit', await service.post('/v1/coins/credit', credit)],
      ['post', '/v1/coins/credit', await service.post('/v1/coins/credit', credit)],
      ['post', '/v1/coins/credit', await service.post('/v1/coins/credit', { ...credit, coins: 11 })],
      ['post', '/v1/coins/credit', await service.post('/v1/coins/credit', { ...credit, coins: 0 })],
      ['post', '/v1/coins/debit', await service.post('/v1/coins/debit', { ...credit, coins: 500, key: 'b' })],
      ['get', '/v1/balance', await service.get('/v1/balance')],
      ['get', '/v1/coins/history', await service.get('/v1/coins/history', { cookies })],
      ['get', '/v1/coins/history', await service.get('/v1/coins/history')],
      ['get', '/v1/session', await service.get('/v1/session', { cookies })],
      ['get', '/v1/rooms/{code}', await service.get('/v1/rooms/aaaaa')],
      ['post', '/v1/rooms', await service.post('/v1/rooms', { installId })],
      ['get', '/v1/catalogue', await service.get('/v1/catalogue')],
    ];
    expect(replies.map(([, , { status }]) => status)).toEqual([200, 200, 200, 200, 200, 422, 400, 409, 401, 200, 401, 200, 404, 200, 200]);
    for (const [method, path, { status, body }] of replies) {
      const { schema } = openapi.response(document.paths[path][method], status).content['application/json'];
      const validate = openapi.validator(schema);
      expect([validate(body), validate.errors], `${method} ${path} ${status}`).toEqual([true, null]);
    }
  });
});
