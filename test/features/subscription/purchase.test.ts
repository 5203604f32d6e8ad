import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { endpointAt, freshId, signIn, start, type TestService } from '../../harness.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

const purchase = (body: object, cookies: string[] = []) => service.post('/v1/subscription/purchase', body, { cookies });

describe('a purchase without a store to ask', () => {
  test('is 503, for an install and for a session, and subscribes nobody', async () => {
    const installId = freshId();
    const cookies = [await signIn(service, installId)];
    for (const reply of [await purchase({ installId, purchaseToken: 'token' }), await purchase({ purchaseToken: 'token' }, cookies)]) {
      expect([reply.status, reply.body.error]).toEqual([
        503,
        { code: 'store_unconfigured', message: 'No app store is configured on this service.' },
      ]);
    }
    expect((await service.get('/v1/subscription', { cookies })).body).toEqual({
      ok: true,
      subscribed: false,
      state: 'none',
      source: 'none',
      verified: false,
    });
  });

  test('says first what is wrong with the token', async () => {
    const installId = freshId();
    for (const purchaseToken of [undefined, null, 7, '', 'to ken', 'tökén', 'x'.repeat(1025)]) {
      const reply = await purchase({ installId, purchaseToken });
      expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', 'purchaseToken']);
    }
    expect((await purchase({ installId, purchaseToken: 'x'.repeat(1024) })).status).toBe(503);
  });

  test('says first that nobody is named, to a signed-out session too', async () => {
    // Signed out at another service, so that only Redis can tell this one.
    await using other = await start();
    const cookies = [await signIn(service, freshId())];
    await other.post('/v1/logout', {}, { cookies });
    for (const reply of [await purchase({ purchaseToken: 'token' }), await purchase({ purchaseToken: 'token' }, cookies)]) {
      expect([reply.status, reply.body.error.code]).toEqual([401, 'identity_required']);
    }
  });

  test('declares the answer of a store', () => {
    const { reply } = endpointAt('POST', '/v1/subscription/purchase')!;
    const answer = {
      subscribed: true,
      state: 'active',
      source: 'store',
      verified: true,
      productId: 'gold',
      expiresAt: '2031-05-01T12:00:00.000Z',
      willRenew: true,
    };
    expect(z.strictObject(reply.shape).parse(answer)).toEqual(answer);
  });
});
