import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { endpointAt, freshId, start, type TestService } from '../../harness.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

const provision = (body: object) => service.post('/v1/account/store-provision', body);

describe('a store sign-in without a store to ask', () => {
  test('is 503, and signs nobody in', async () => {
    for (const body of [{ token: 'a.b.c' }, { token: 'a.b.c', installId: freshId() }, { token: 'x'.repeat(8192) }]) {
      const reply = await provision(body);
      expect([reply.status, reply.body.error]).toEqual([
        503,
        { code: 'store_unconfigured', message: 'No app store is configured on this service.' },
      ]);
      expect(reply.setCookies).toEqual([]);
    }
  });

  test('says first what is wrong with the request', async () => {
    for (const token of [undefined, null, 7, '', 'a b', 'x'.repeat(8193)]) {
      const reply = await provision({ token });
      expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', 'token']);
    }
    const reply = await provision({ token: 'a.b.c', installId: 'short' });
    expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', 'installId']);
  });

  test('declares the answer of a store', () => {
    const { reply } = endpointAt('POST', '/v1/account/store-provision')!;
    const answer = { accountId: 'wwMkRkvbG2vRiQbkdLw2Yw', created: true, expiresAt: '2031-05-01T12:00:00.000Z' };
    expect(z.strictObject(reply.shape).parse(answer)).toEqual(answer);
  });
});
