import { expect, test } from 'vitest';
import { freshId, signIn, start } from '../../harness.ts';

const DAY_MS = 86_400_000;

test('a refusal renews no session, and the next success does', async () => {
  await using service = await start();
  const cookies = await signIn(service, freshId());
  service.advance(16 * DAY_MS);
  const refused = await service.post('/v1/coins/debit', { coins: 1, key: 'a' }, { cookies });
  expect([refused.status, refused.body.error.code, refused.setCookies]).toEqual([409, 'insufficient_coins', []]);
  const done = await service.post('/v1/coins/credit', { coins: 1, key: 'b' }, { cookies });
  expect([done.status, done.setCookies]).toEqual([200, [expect.stringMatching(/^svc_session=/)]]);
});
