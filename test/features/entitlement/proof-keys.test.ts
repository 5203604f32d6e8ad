import { calculateJwkThumbprint } from 'jose';
import { describe, expect, test } from 'vitest';
import { parseSessionKeys } from '../../../src/config.ts';
import { firstScalar, ProofKeys } from '../../../src/features/entitlement/proof-keys.ts';

const sevens = Buffer.alloc(32, 7).toString('base64url');
/** 0, 1, … 47. */
const counting = Buffer.from([...Array(48).keys()]).toString('base64url');

describe('ProofKeys', () => {
  // Computed independently of this code, by HMAC and point addition. A change of the derivation breaks every issued proof.
  test('derives exactly these keys from these session keys', () => {
    const { signing, published } = new ProofKeys(parseSessionKeys(`a:${sevens},b:${counting}`));
    expect(published).toEqual([
      {
        kty: 'EC',
        crv: 'P-256',
        x: 'wQ6irXYkbZO-AxdZ6j1lx00xZVYZXfOAL5k9YtHILfI',
        y: 'ZsPSLIzQiR3ycQmlet3PZzYALSw1HLfqFxUV3RcSrQA',
        kid: 'a',
        alg: 'ES256',
        use: 'sig',
      },
      {
        kty: 'EC',
        crv: 'P-256',
        x: 'dZ5kFMl_5tPm06Y7j1Uf_UrKGt2uQb5HKraa9wVQGb8',
        y: 'zyv_bIw1aoYgtJfk03efMiRi7y6n385hQh7Y8kxFSFM',
        kid: 'b',
        alg: 'ES256',
        use: 'sig',
      },
    ]);
    expect(signing.kid).toBe('a');
    expect(signing.privateKey.export({ format: 'jwk' })).toMatchObject({ d: '5HkO0qcJmgifTv1tIA_obmZ7Em7XL8RJ-GXeuhEpp_U' });
  });

  test('derives a key from the secret alone, not from its kid', async () => {
    const keyOf = (text: string) => calculateJwkThumbprint(new ProofKeys(parseSessionKeys(text)).published[0]!);
    expect(await keyOf(`a:${sevens}`)).toBe(await keyOf(`b:${sevens}`));
    expect(await keyOf(`a:${sevens}`)).not.toBe(await keyOf(`a:${counting}`));
  });
});

describe('firstScalar gives the first candidate between 1 and the order of P-256 less one', () => {
  const zero = '0'.repeat(64);
  const one = '1'.padStart(64, '0');
  const orderLessOne = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550';
  const order = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551';
  const largest = 'f'.repeat(64);

  test.each([
    ['accepts one', [one, orderLessOne], one],
    ['accepts the order less one', [orderLessOne, one], orderLessOne],
    ['skips zero', [zero, one], one],
    ['skips the order', [order, orderLessOne], orderLessOne],
    ['skips until the first valid one', [largest, zero, order, one, orderLessOne], one],
  ])('%s', (_name, candidates, expected) => {
    expect(firstScalar((counter) => Buffer.from(candidates[counter]!, 'hex')).toString('hex')).toBe(expected);
  });
});
