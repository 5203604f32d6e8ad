import { expect, test } from 'vitest';
import { authOf } from '../src/server/http/endpoint.ts';
import { interfaceEndpoints as rows } from './interface.ts';
import { endpointAt, forFile, freshId, start } from './harness.ts';

const service = await forFile(start());

test('the documented interface has 35 endpoints', () => {
  expect(new Set(rows.map(({ method, path }) => `${method} ${path}`)).size).toBe(35);
});

test.each(rows)(
  '$method $path is declared with the auth and the fields of the documented interface, and answers a bare request',
  async (row) => {
    const { method, path, auth, answer, request, reply } = row;
    const endpoint = endpointAt(method, path);
    expect(endpoint, `${method} ${path} is not declared`).toBeDefined();
    expect(authOf(endpoint!)).toBe(auth);
    const { params, query, body } = endpoint!;
    expect(Object.keys({ ...params?.shape, ...query?.shape, ...body?.shape })).toEqual(expect.arrayContaining(request));
    expect(Object.keys(endpoint!.reply.shape)).toEqual(expect.arrayContaining(reply));

    const filled = path.replace('{game}', 'tetris').replace('{code}', 'BCDFG').replace('{action}', 'join');
    const given = method === 'GET' ? await service.get(filled) : await service.post(filled, { installId: freshId() });
    expect([given.status, given.body.error?.code].join(' ').trim()).toBe(answer);
  },
);
