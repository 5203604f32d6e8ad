import { describe, expect, test } from 'vitest';
import { authOf } from '../src/server/http/endpoint.ts';
import { interfaceEndpoints as rows } from './interface.ts';
import { endpointAt, forFile, freshId, start } from './harness.ts';

const service = await forFile(start());

/** Status and error code of the answer to a bare request: a GET without parameters, or a POST of a new installId alone. */
const answers: [method: 'GET' | 'POST', path: string, answer: string][] = [
  ['GET', '/health', '200'],
  ['GET', '/?format=json', '200'],
  ['GET', '/openapi.json', '200'],
  ['POST', '/v1/account/resolve', '200'],
  ['GET', '/v1/balance', '401 identity_required'],
  ['POST', '/v1/coins/credit', '400 invalid_request'],
  ['POST', '/v1/coins/purchase', '400 invalid_request'],
  ['POST', '/v1/coins/debit', '400 invalid_request'],
  ['GET', '/v1/coins/history', '401 session_required'],
  ['GET', '/v1/highscores/{game}', '200'],
  ['POST', '/v1/highscores/{game}', '400 invalid_request'],
  ['GET', '/v1/catalogue', '200'],
  ['GET', '/v1/apps', '200'],
  ['GET', '/v1/lobby/catalogue', '200'],
  ['POST', '/v1/pair/new', '200'],
  ['POST', '/v1/pair/claim', '400 invalid_request'],
  ['GET', '/v1/pair/status', '400 invalid_request'],
  ['POST', '/v1/rooms', '200'],
  ['GET', '/v1/rooms/{code}', '404 room_not_found'],
  ['POST', '/v1/rooms/{code}/{action}', '404 room_not_found'],
  ['POST', '/v1/login', '200'],
  ['POST', '/login', '200'],
  ['POST', '/v1/logout', '200'],
  ['GET', '/v1/session', '200'],
  ['GET', '/v1/subscription', '200'],
  ['POST', '/v1/subscription/report', '400 invalid_request'],
  ['POST', '/v1/subscription/purchase', '400 invalid_request'],
  ['GET', '/v1/entitlement', '200'],
  ['POST', '/v1/entitlement/first-run', '200'],
  ['POST', '/v1/trial/touch', '400 invalid_request'],
  ['GET', '/v1/trial/status', '200'],
  ['POST', '/v1/trial/link', '401 session_required'],
  ['POST', '/v1/account/store-provision', '400 invalid_request'],
  ['GET', '/v1/account/store-install/nonce', '200'],
  ['POST', '/v1/account/store-install', '400 invalid_request'],
];

describe('the documented interface', () => {
  test('has 35 endpoints, and each has its answer below', () => {
    const endpoints = rows.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(endpoints).size).toBe(35);
    expect(answers.map(([method, path]) => `${method} ${path}`)).toEqual(endpoints);
  });

  test.each(rows)('$method $path is declared with the auth and the fields of the interface', ({ method, path, auth, request, reply }) => {
    const endpoint = endpointAt(method, path);
    expect(endpoint, `${method} ${path} is not declared`).toBeDefined();
    expect(authOf(endpoint!)).toBe(auth);
    const { params, query, body } = endpoint!;
    expect(Object.keys({ ...params?.shape, ...query?.shape, ...body?.shape })).toEqual(expect.arrayContaining(request));
    expect(Object.keys(endpoint!.reply.shape)).toEqual(expect.arrayContaining(reply));
  });

  test.each(answers)('%s %s answers a bare request with %s', async (method, path, answer) => {
    const filled = path.replace('{game}', 'tetris').replace('{code}', 'BCDFG').replace('{action}', 'join');
    const reply = method === 'GET' ? await service.get(filled) : await service.post(filled, { installId: freshId() });
    expect(reply.status === 200 ? '200' : `${reply.status} ${reply.body.error.code}`).toBe(answer);
  });
});
