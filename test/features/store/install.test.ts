import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { endpointAt, start, type TestService } from '../../harness.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

const nonce = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8';
const install = (body: object) => service.post('/v1/account/store-install', body);

describe('an install proof without a store to ask', () => {
  test('is 503, and proves nothing', async () => {
    const reply = await install({ nonce, integrityToken: 'a.b.c.d.e' });
    expect([reply.status, reply.body.error]).toEqual([
      503,
      { code: 'store_unconfigured', message: 'No app store is configured on this service.' },
    ]);
  });

  test('says first what is wrong with the nonce or the token', async () => {
    for (const bad of [undefined, null, 7, '', nonce.slice(1), `${nonce}A`, `${nonce.slice(1)}+`]) {
      const reply = await install({ nonce: bad, integrityToken: 'a.b.c.d.e' });
      expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', 'nonce']);
    }
    for (const integrityToken of [undefined, null, 7, '', 'a b', 'x'.repeat(8193)]) {
      const reply = await install({ nonce, integrityToken });
      expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', 'integrityToken']);
    }
  });

  test('declares the answer of a store', () => {
    const { reply } = endpointAt('POST', '/v1/account/store-install')!;
    expect(z.strictObject(reply.shape).parse({ packageName: 'com.example.app' })).toEqual({ packageName: 'com.example.app' });
  });
});
