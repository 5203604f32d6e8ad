import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { errors } from '../../../src/errors.ts';
import { declaredErrors } from '../../../src/server/http/endpoint.ts';
import { open } from '../../features/rooms/room.ts';
import { forFile, freshId, signIn, start, type TestReply } from '../../harness.ts';
import { OpenapiDocument, ROOM_ACTIONS } from './openapi-document.ts';

const service = await forFile(start());
const document = (await service.get('/openapi.json')).body;
const openapi = new OpenapiDocument(document);

test('the document is valid OpenAPI 3.0.3', async () => {
  expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
  expect([document.openapi, document.info.title, document.info.version]).toEqual(['3.0.3', 'coinop', '1']);
});

test('the document has exactly the declared endpoints and aliases without those of the sandbox, and a path for each action of a room', () => {
  expect(openapi.operations.map(({ name }) => name).toSorted()).toEqual(
    [
      ...openapi.declared.map(({ endpoint, path }) => `${endpoint.method} ${path}`),
      ...ROOM_ACTIONS.map((action) => `POST /v1/rooms/{code}/${action}`),
    ].toSorted(),
  );
});

test('the error codes of every endpoint are listed under their statuses', () => {
  for (const { endpoint, path, operation } of openapi.declared) {
    const listed = Object.keys(operation.responses)
      .filter((status) => Number(status) >= 400)
      .flatMap((status) => openapi.codes(operation, status).map((code) => `${status} ${code}`));
    const declared = declaredErrors(endpoint);
    // Any request may have malformed headers. The error is listed if the endpoint has no other refusal of a request.
    const expected = declared.some((code) => errors[code].status < 500) ? declared : [...declared, 'invalid_request' as const];
    expect(listed.toSorted(), `${endpoint.method} ${path}`).toEqual(expected.map((code) => `${errors[code].status} ${code}`).toSorted());
  }
});

test('real replies match the schemas', async () => {
  const installId = freshId();
  const cookies = await signIn(service, installId);
  const credit = { installId, coins: 10, key: 'a' };
  const replies: [status: number, operation: string, reply: TestReply][] = [
    [200, 'get /health', await service.get('/health')],
    [200, 'get /', await service.get('/?format=json')],
    [200, 'get /openapi.json', await service.get('/openapi.json')],
    [200, 'post /v1/coins/credit', await service.post('/v1/coins/credit', credit)],
    [200, 'post /v1/coins/credit', await service.post('/v1/coins/credit', credit)],
    [422, 'post /v1/coins/credit', await service.post('/v1/coins/credit', { ...credit, coins: 11 })],
    [400, 'post /v1/coins/credit', await service.post('/v1/coins/credit', { ...credit, coins: 0 })],
    [409, 'post /v1/coins/debit', await service.post('/v1/coins/debit', { ...credit, coins: 500, key: 'b' })],
    [401, 'get /v1/balance', await service.get('/v1/balance')],
    [200, 'get /v1/coins/history', await service.get('/v1/coins/history', { cookies })],
    [200, 'get /v1/session', await service.get('/v1/session', { cookies })],
    [404, 'get /v1/rooms/{code}', await service.get('/v1/rooms/aaaaa')],
    [200, 'post /v1/rooms', await service.post('/v1/rooms', { installId })],
    [200, 'get /v1/catalogue', await service.get('/v1/catalogue')],
  ];
  for (const [expected, operation, { status, body }] of replies) {
    const [method, path] = operation.split(' ') as [string, string];
    const { schema } = openapi.response(document.paths[path][method], expected).content['application/json'];
    const validate = openapi.validator(schema);
    expect([status, validate(body), validate.errors], operation).toEqual([expected, true, null]);
  }
});

test('every JSON reply and every error has an example, which matches its schema', () => {
  for (const { name, operation } of openapi.operations) {
    for (const status of Object.keys(operation.responses).filter((each) => each !== '304')) {
      for (const [mediaType, { schema, example, examples }] of Object.entries<any>(openapi.response(operation, status).content)) {
        if (!/json/.test(mediaType)) continue;
        if (Number(status) >= 400) expect(Object.keys(examples)).toEqual(openapi.codes(operation, status));
        const validate = openapi.validator(schema);
        for (const each of examples === undefined ? [example] : Object.values<any>(examples).map(({ value }) => value))
          expect([validate(each), validate.errors], `${name} ${status}`).toEqual([true, null]);
      }
    }
  }
});

test('no example has a field that its reply does not declare', () => {
  for (const { endpoint, operation } of openapi.declared) {
    const [mediaType, { example }] = Object.entries<any>(operation.responses[200].content)[0]!;
    if (!/json/.test(mediaType)) continue;
    const known = ['ok', ...Object.keys(endpoint.reply.shape)];
    expect(Object.keys(example).filter((field) => !known.includes(field))).toEqual([]);
  }
});

test('each action of a room has a body with the fields that the service asks for', async () => {
  const { code, host } = await open(service, { maxPlayers: 3 });
  /** The fields of an action itself, and the field that a request without fields lacks. */
  const own = new Map<string, [fields: string[], missing?: string]>([
    ['join', [['name']]],
    ['kick', [['playerId'], 'playerId']],
    ['transfer', [['playerId'], 'playerId']],
    ['settings', [['public', 'tags', 'minPlayers', 'maxPlayers', 'writers', 'seatGraceSeconds'], 'public']],
    ['state', [['state', 'merge', 'ifStateSeq'], 'state']],
    ['data', [['data', 'merge'], 'data']],
    ['private', [['seats', 'state', 'merge', 'ifStateSeq'], 'seats']],
    ['message', [['data', 'to'], 'data']],
  ]);
  for (const action of ROOM_ACTIONS) {
    const { post } = document.paths[`/v1/rooms/{code}/${action}`];
    const { properties, required } = openapi.body(post);
    const [fields, missing] = own.get(action) ?? [[]];
    const isRequired = ['kick', 'transfer', 'private', 'message'].includes(action);
    expect([action, Object.keys(properties), required, post.requestBody.required]).toEqual([
      action,
      ['installId', ...fields, ...(action === 'join' ? [] : ['order', 'tab'])],
      isRequired ? [missing] : undefined,
      isRequired,
    ]);
    const { status, body } = await service.post(`/v1/rooms/${code}/${action}`, { installId: host });
    expect([action, status === 400, body.error?.field]).toEqual([action, missing !== undefined, missing]);
  }
});
