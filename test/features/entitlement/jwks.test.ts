import { createLocalJWKSet, createRemoteJWKSet, decodeProtectedHeader, jwtVerify, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { describe, expect, test } from 'vitest';
import { parseSessionKeys } from '../../../src/config.ts';
import { forFile, freshId, start, type TestService } from '../../harness.ts';

const service = await forFile(start());

const PATH = '/.well-known/jwks.json';

describe('GET /.well-known/jwks.json', () => {
  test('answers with the public keys only, as a bare JWK set', async () => {
    const { status, headers, body } = await service.get(PATH);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/jwk-set+json');
    expect(headers.get('cache-control')).toBe('public, max-age=300');
    // The public key that belongs to `testKeys`. proof-keys.test.ts says how these numbers were computed.
    expect(body).toEqual({
      keys: [
        {
          kty: 'EC',
          crv: 'P-256',
          x: 'wQ6irXYkbZO-AxdZ6j1lx00xZVYZXfOAL5k9YtHILfI',
          y: 'ZsPSLIzQiR3ycQmlet3PZzYALSw1HLfqFxUV3RcSrQA',
          kid: 'test',
          alg: 'ES256',
          use: 'sig',
        },
      ],
    });
  });

  test('OpenAPI describes it with its own media type', async () => {
    const { paths, components } = (await service.get('/openapi.json')).body;
    const { content } = paths[PATH].get.responses[200];
    expect(Object.keys(content)).toEqual(['application/jwk-set+json']);
    expect(content['application/jwk-set+json'].schema).toEqual({ $ref: '#/components/schemas/GetProofKeysReply' });
    expect(components.schemas.GetProofKeysReply).toMatchObject({ type: 'object', required: ['keys'] });
    expect(components.schemas.GetProofKeysReply.properties).not.toHaveProperty('ok');
  });
});

describe('rotation of the proof keys', () => {
  const key = (kid: string, fill: number) => `${kid}:${Buffer.alloc(32, fill).toString('base64url')}`;
  const startWith = (...keys: string[]) => start({ sessionKeys: parseSessionKeys(keys.join()) });
  const old = key('old', 1);
  const fresh = key('new', 2);

  const proofFrom = async (from: TestService): Promise<string> =>
    (await from.get('/v1/entitlement?proof=1', { headers: { 'x-install-id': freshId() } })).body.proof;
  const setOf = async (from: TestService): Promise<JSONWebKeySet> => (await from.get(PATH)).body;
  const kidOf = (proof: string) => decodeProtectedHeader(proof).kid;
  const verifies = (proof: string, keys: JWTVerifyGetKey): Promise<boolean> =>
    jwtVerify(proof, keys).then(
      () => true,
      () => false,
    );

  test('a new key is published before it signs, and the old key still verifies afterwards', async () => {
    await using before = await startWith(old);
    const oldProof = await proofFrom(before);
    await using published = await startWith(old, fresh);
    const bothKeys = createLocalJWKSet(await setOf(published));
    expect(kidOf(await proofFrom(published))).toBe('old');

    await using after = await startWith(fresh, old);
    const newProof = await proofFrom(after);
    expect([kidOf(oldProof), kidOf(newProof)]).toEqual(['old', 'new']);
    expect((await setOf(after)).keys.map(({ kid }) => kid)).toEqual(['new', 'old']);
    // An app that fetched the set before the first signature by the new key already has the new key.
    expect([await verifies(oldProof, bothKeys), await verifies(newProof, bothKeys)]).toEqual([true, true]);
    const fetched = createRemoteJWKSet(new URL(PATH, after.url));
    expect([await verifies(oldProof, fetched), await verifies(newProof, fetched)]).toEqual([true, true]);
  });

  test('proofs of a removed key no longer verify', async () => {
    await using before = await startWith(old);
    const oldProof = await proofFrom(before);
    await using after = await startWith(fresh);
    const keys = createRemoteJWKSet(new URL(PATH, after.url));
    expect([await verifies(oldProof, keys), await verifies(await proofFrom(after), keys)]).toEqual([false, true]);
  });
});
