import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authOf } from '../src/server/http/endpoint.ts';
import { interfaceEndpoints as rows } from './interface.ts';
import { endpointAt, freshId, start, type TestService } from './harness.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

describe('the given interface', () => {
  test('has 35 endpoints', () => {
    expect(new Set(rows.map(({ method, path }) => `${method} ${path}`)).size).toBe(35);
  });

  test.each(rows)('$method $path is declared as it is given', ({ method, path, auth, request, reply }) => {
    const endpoint = endpointAt(method, path);
    expect(endpoint, `${method} ${path} is not declared`).toBeDefined();
    expect(authOf(endpoint!)).toBe(auth);
    const { params, query, body } = endpoint!;
    expect(Object.keys({ ...params?.shape, ...query?.shape, ...body?.shape })).toEqual(expect.arrayContaining(request));
    expect(Object.keys(endpoint!.reply.shape)).toEqual(expect.arrayContaining(reply));
  });

  test.each(rows)('$method $path answers', async ({ method, path }) => {
    const filled = path.replace('{game}', 'tetris').replace('{code}', 'BCDFG').replace('{action}', 'join');
    const reply = method === 'GET' ? await service.get(filled) : await service.post(filled, { installId: freshId() });
    expect(reply.status).not.toBe(405);
    expect(reply.body?.error?.code).not.toBe('not_found');
    // A declared path that fails is no answer; 503 is one where no store is configured.
    if (reply.status >= 500) expect(reply.body.error.code).toBe('store_unconfigured');
  });
});
