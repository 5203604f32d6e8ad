import { expect, test } from 'vitest';
import { z } from 'zod';
import { refuse } from '../../../src/errors.ts';
import { googleEndpoint } from '../../../src/stores/sandbox/google-endpoint.ts';
import { googleError } from '../../../src/stores/sandbox/google-reply.ts';
import { Reply } from '../../../src/server/http/endpoint.ts';

const declared = {
  method: 'POST',
  path: '/sandbox/things/{thing}',
  summary: 'A thing.',
  params: z.object({ thing: z.string() }),
  body: z.object({ count: z.number() }),
  reply: z.object({ count: z.number() }),
  example: 'curl -s $base/sandbox/things/one',
} as const;

const answerOf = (endpoint: ReturnType<typeof googleEndpoint>, count: number) =>
  endpoint.handle({ params: { thing: 'one' }, body: { count } } as never, {} as never);

test('the object that a handler returns becomes JSON without ok', async () => {
  const endpoint = googleEndpoint({ ...declared, handle: ({ body }) => ({ count: body.count + 1 }) });
  const answer = (await answerOf(endpoint, 2)) as Reply<never>;
  expect(answer).toBeInstanceOf(Reply);
  expect([answer.status, answer.body.text]).toEqual([200, '{"count":3}']);
});

test('a reply and a refusal that a handler returns stay as they are', async () => {
  const reply = googleError(404, { reason: 'notFound', message: 'Not Found' });
  const refusal = refuse('store_unavailable');
  const endpoint = googleEndpoint({ ...declared, handle: ({ body }) => (body.count === 1 ? reply : refusal) });
  expect(await answerOf(endpoint, 1)).toBe(reply);
  expect(await answerOf(endpoint, 2)).toBe(refusal);
});

test('an endpoint with a scope describes the header of its access token', () => {
  const handle = () => ({ count: 1 });
  const scope = 'https://www.googleapis.com/auth/playintegrity';
  expect(googleEndpoint({ ...declared, handle }).headers).toBeUndefined();
  expect(googleEndpoint({ ...declared, scope, handle }).headers).toEqual({ authorization: 'Bearer and an access token.' });
});

test('a handler that contradicts its declaration does not compile', () => {
  const endpoints = [
    // @ts-expect-error the code is not one of these endpoints'
    googleEndpoint({ ...declared, handle: () => refuse('forbidden') }),
    // @ts-expect-error the reply's count is a number
    googleEndpoint({ ...declared, handle: () => ({ count: '1' }) }),
    // @ts-expect-error the reply has a count
    googleEndpoint({ ...declared, handle: () => ({}) }),
    // @ts-expect-error the body has no such field
    googleEndpoint({ ...declared, handle: ({ body }) => ({ count: body.amount }) }),
    // @ts-expect-error no such scope
    googleEndpoint({ ...declared, scope: 'https://www.googleapis.com/auth/drive', handle: () => ({ count: 1 }) }),
    // @ts-expect-error the builder sets the media type
    googleEndpoint({ ...declared, mediaType: 'text/plain', handle: () => ({ count: 1 }) }),
  ];
  expect(endpoints.map(({ mediaType }) => mediaType)).toEqual(endpoints.map(() => 'application/json; charset=UTF-8'));
});
