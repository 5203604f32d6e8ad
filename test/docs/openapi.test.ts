import { Validator } from '@seriousme/openapi-schema-validator';
import AjvDraft4Module from 'ajv-draft-04';
import formatsModule from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { api } from '../../src/api.ts';
import { errors } from '../../src/errors.ts';
import { declaredErrors } from '../../src/server/http/endpoint.ts';
import { freshId, signIn, start, type TestReply, type TestService } from '../harness.ts';
import { interfaceEndpoints } from '../interface.ts';

// Both are CommonJS modules whose default export is nested once more.
const Ajv = AjvDraft4Module.default;
const addFormats = formatsModule.default;

let service: TestService;
// `any`: the document is read without types, as a client reads it.
// oxlint-disable-next-line no-explicit-any
let document: any;
beforeAll(async () => {
  service = await start();
  document = (await service.get('/openapi.json')).body;
});
afterAll(() => service[Symbol.asyncDispose]());

const operations = () =>
  api.flatMap((endpoint) =>
    [endpoint.path, ...(endpoint.aliases ?? [])].map((path) => ({
      endpoint,
      path,
      operation: document.paths[path]?.[endpoint.method.toLowerCase()],
    })),
  );

// strict: an unknown keyword or format is an error.
const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
addFormats(ajv);
for (const format of ['base64', 'base64url']) ajv.addFormat(format, true);
// The keywords that OpenAPI 3.0 adds to draft 4. ajv knows `nullable`.
ajv.addVocabulary(['example', 'deprecated', 'components']);

/** A validator that resolves references within the document, as tools do. */
const validatorOf = (schema: object) => ajv.compile({ ...schema, components: document.components });

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
      expect(operation.security, `${method} ${path}`).toEqual(security[auth as keyof typeof security]);
    }
  });

  test('has exactly the declared endpoints and aliases', () => {
    const written = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(written.toSorted()).toEqual(
      operations()
        .map(({ endpoint, path }) => `${endpoint.method} ${path}`)
        .toSorted(),
    );
  });

  test('gives every operation a unique id', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toContain('postCoinsCredit');
    expect(document.paths['/v1/login'].post.operationId).toBe('postLogin');
    expect(document.paths['/login'].post.operationId).toBe('postLoginAlias');
  });

  test('lists the error codes of every endpoint under their statuses', () => {
    for (const { endpoint, path, operation } of operations()) {
      const listed = Object.entries<any>(operation.responses)
        .filter(([status]) => Number(status) >= 400)
        .flatMap(([status, response]) => {
          const [shared, own] = response.content['application/json'].schema.allOf;
          expect(shared).toEqual({ $ref: '#/components/schemas/Error' });
          return own.properties.error.properties.code.enum.map((code: keyof typeof errors) => {
            expect(errors[code].status, code).toBe(Number(status));
            return code;
          });
        });
      expect(listed.toSorted(), `${endpoint.method} ${path}`).toEqual(declaredErrors(endpoint).toSorted());
    }
    const { responses } = document.paths['/v1/coins/debit'].post;
    expect(responses[409].content['application/json'].schema.allOf[1].properties.error.properties.code.enum).toContain(
      'insufficient_coins',
    );
    expect(responses[422].content['application/json'].schema.allOf[1].properties.error.properties.code.enum).toEqual(['key_reused']);
  });

  test('documents retry-after on 429 and 503', () => {
    const { responses } = document.paths['/v1/balance'].get;
    expect(Object.keys(responses[429].headers)).toEqual(['x-request-id', 'retry-after']);
    expect(Object.keys(responses[503].headers)).toEqual(['x-request-id', 'retry-after']);
    expect(Object.keys(responses[401].headers)).toEqual(['x-request-id']);
  });

  test('documents the path parameters of every path', () => {
    for (const { path, operation } of operations()) {
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
      ['x-install-id', 'header', false],
    ]);
  });

  test('requires a body only when it has required fields', () => {
    expect(document.paths['/v1/coins/credit'].post.requestBody.required).toBe(true);
    expect(document.paths['/v1/coins/credit'].post.requestBody.content['application/json'].schema.required).toEqual(['coins', 'key']);
    expect(document.paths['/v1/logout'].post.requestBody.required).toBe(false);
    expect(document.paths['/health'].get).not.toHaveProperty('requestBody');
  });

  test('documents media types other than JSON, ETags and 304', () => {
    expect(Object.keys(document.paths['/metrics'].get.responses[200].content)).toEqual(['text/plain']);
    expect(Object.keys(document.paths['/'].get.responses[200].content)).toEqual(['application/json', 'text/html']);
    const { responses } = document.paths['/v1/catalogue'].get;
    expect(Object.keys(responses)).toContain('304');
    expect(Object.keys(responses[200].headers)).toEqual(['x-request-id', 'etag']);
    expect(Object.keys(document.paths['/health'].get.responses)).toEqual(['200']);
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
    // On average more than two schemas an endpoint, so that the search above cannot miss most of them.
    expect(found.length).toBeGreaterThan(api.length * 2);
    for (const schema of [...found, ...Object.values<object>(document.components.schemas)]) {
      expect(() => validatorOf(schema), JSON.stringify(schema)).not.toThrow();
    }
  });

  test('hold no keyword that OpenAPI 3.0 does not know', () => {
    const text = JSON.stringify(document);
    for (const word of [
      '$schema',
      '$defs',
      'definitions',
      '~standard',
      'const',
      'propertyNames',
      'contentEncoding',
      'prefixItems',
      'examples',
    ]) {
      expect(text, word).not.toContain(`"${word}":`);
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
      const { schema } = document.paths[path][method].responses[status].content['application/json'];
      const validate = validatorOf(schema);
      expect([validate(body), validate.errors], `${method} ${path} ${status}`).toEqual([true, null]);
    }
  });

  test('do not match wrong replies', () => {
    const { responses } = document.paths['/v1/coins/credit'].post;
    const success = validatorOf(responses[200].content['application/json'].schema);
    expect(success({ ok: true, balanceAfterCoins: 1 })).toBe(true);
    expect(success({ ok: true })).toBe(false);
    expect(success({ ok: false, balanceAfterCoins: 1 })).toBe(false);
    const refusal = validatorOf(responses[422].content['application/json'].schema);
    expect(refusal({ ok: false, error: { code: 'key_reused', message: 'x' }, requestId: 'r' })).toBe(true);
    expect(refusal({ ok: false, error: { code: 'room_full', message: 'x' }, requestId: 'r' })).toBe(false);
    expect(refusal({ ok: false, error: { code: 'key_reused', message: 'x' } })).toBe(false);
  });
});
