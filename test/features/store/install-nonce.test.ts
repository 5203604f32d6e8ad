import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { endpointAt, start, type TestService } from '../../harness.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

describe('a nonce without a store to ask', () => {
  test('is 503', async () => {
    const reply = await service.get('/v1/account/store-install/nonce');
    expect([reply.status, reply.body.error]).toEqual([
      503,
      { code: 'store_unconfigured', message: 'No app store is configured on this service.' },
    ]);
  });

  test("counts against the address's creations", async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '1' } });
    expect((await limited.get('/v1/account/store-install/nonce')).status).toBe(503);
    const reply = await limited.get('/v1/account/store-install/nonce');
    expect([reply.status, reply.body.error.code]).toEqual([429, 'rate_limited']);
  });

  test('declares a nonce of 32 bytes that is good for 5 minutes', () => {
    const { reply } = endpointAt('GET', '/v1/account/store-install/nonce')!;
    const answer = { nonce: 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8', expiresIn: 300 };
    expect(z.strictObject(reply.shape).parse(answer)).toEqual(answer);
  });
});
