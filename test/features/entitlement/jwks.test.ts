import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from 'jose';
import { expect, test } from 'vitest';
import { parseSessionKeys } from '../../../src/config.ts';
import { firstScalar } from '../../../src/features/entitlement/proof-keys.ts';
import { freshId, start, type TestService } from '../../harness.ts';

const PATH = '/.well-known/jwks.json';

const sevens = Buffer.alloc(32, 7).toString('base64url');
/** 0, 1, … 47. */
const counting = Buffer.from([...Array(48).keys()]).toString('base64url');

test('GET /.well-known/jwks.json answers with the public keys of the session keys only, as a bare JWK set', async () => {
  await using service = await start({ sessionKeys: parseSessionKeys(`a:${sevens},b:${counting}`) });
  const { status, headers, body } = await service.get(PATH);
  expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
    200,
    'application/jwk-set+json',
    'public, max-age=300',
  ]);
  const key = { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' };
  // Computed independently of this code, by HMAC and point addition. A change of the derivation breaks every issued proof.
  expect(body).toEqual({
    keys: [
      {
        ...key,
        kid: 'a',
        x: 'wQ6irXYkbZO-AxdZ6j1lx00xZVYZXfOAL5k9YtHILfI',
        y: 'ZsPSLIzQiR3ycQmlet3PZzYALSw1HLfqFxUV3RcSrQA',
      },
      {
        ...key,
        kid: 'b',
        x: 'dZ5kFMl_5tPm06Y7j1Uf_UrKGt2uQb5HKraa9wVQGb8',
        y: 'zyv_bIw1aoYgtJfk03efMiRi7y6n385hQh7Y8kxFSFM',
      },
    ],
  });
});

test('a new key is published before it signs, and proofs of the old key verify until it is removed', async () => {
  const key = (kid: string, fill: number) => `${kid}:${Buffer.alloc(32, fill).toString('base64url')}`;
  const startWith = (...keys: string[]) => start({ sessionKeys: parseSessionKeys(keys.join()) });
  const [old, fresh] = [key('old', 1), key('new', 2)];
  const proofFrom = async (from: TestService): Promise<string> =>
    (await from.get('/v1/entitlement?proof=1', { headers: { 'x-install-id': freshId() } })).body.proof;
  const keysOf = async (from: TestService): Promise<JSONWebKeySet> => (await from.get(PATH)).body;
  const verifies = (proof: string, keys: JSONWebKeySet): Promise<boolean> =>
    jwtVerify(proof, createLocalJWKSet(keys)).then(
      () => true,
      () => false,
    );

  await using before = await startWith(old);
  await using published = await startWith(old, fresh);
  await using after = await startWith(fresh, old);
  await using removed = await startWith(fresh);
  const proofs = await Promise.all([before, published, after].map(proofFrom));
  expect(proofs.map((proof) => decodeProtectedHeader(proof).kid)).toEqual(['old', 'old', 'new']);
  // An app that fetched the set before the first signature by the new key already has the new key.
  for (const set of [await keysOf(published), await keysOf(after)])
    expect(await Promise.all(proofs.map((proof) => verifies(proof, set)))).toEqual([true, true, true]);
  const last = await keysOf(removed);
  expect(await Promise.all(proofs.map((proof) => verifies(proof, last)))).toEqual([false, false, true]);
});

const one = '1'.padStart(64, '0');
const orderLessOne = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550';
const order = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551';

test.each([
  ['one', [one, orderLessOne], one],
  ['the order of P-256 less one', [orderLessOne, one], orderLessOne],
  ['and not zero, the order, or more', ['0'.repeat(64), order, 'f'.repeat(64), one, orderLessOne], one],
])('a private key is the first candidate that is in the range: %s', (_, candidates, expected) => {
  expect(firstScalar((counter) => Buffer.from(candidates[counter]!, 'hex')).toString('hex')).toBe(expected);
});
