import { createLocalJWKSet, createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SandboxKeys } from '../../../src/stores/sandbox/signing-keys.ts';
import type { ScriptRunner } from '../../../src/redis/script-runner.ts';
import { start, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { keptKeys } from './google.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

describe('GET /sandbox/jwks.json', () => {
  test("answers in Google's shape, is cacheable and holds public keys only", async () => {
    const { status, headers, body } = await service.get('/sandbox/jwks.json');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=UTF-8');
    expect(headers.get('cache-control')).toMatch(/^public, max-age=\d{4}/);
    expect(body).toEqual({
      keys: [
        {
          kty: 'RSA',
          // A modulus of 2048 bits; AQAB is the exponent 65537.
          n: expect.stringMatching(/^[\w-]{342}$/),
          e: 'AQAB',
          kid: expect.stringMatching(/^[\w-]{43}$/),
          alg: 'RS256',
          use: 'sig',
        },
      ],
    });
  });

  test('verifies ID tokens of the sandbox when jose fetches it', async () => {
    const { token, subject } = (await service.post('/sandbox/issue', { kind: 'id_token' })).body;
    const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(`${service.url}/sandbox/jwks.json`)), { algorithms: ['RS256'] });
    expect(payload.sub).toBe(subject);
  });

  test('services that start concurrently share one set of keys, which survives restarts', async () => {
    await using redis = await startRedis();
    await using first = await start({ redis: redis.location });
    await using second = await start({ redis: redis.location });
    await using third = await start({ redis: redis.location });
    const services = [first, second, third];
    expect(await first.service.redis.exists('{sandbox:keys}')).toBe(0);
    const sets = await Promise.all(services.map(async (each) => (await each.get('/sandbox/jwks.json')).body));
    expect(sets[1]).toEqual(sets[0]);
    expect(sets[2]).toEqual(sets[0]);
    for (const issuer of services) {
      const { token } = (await issuer.post('/sandbox/issue', { kind: 'id_token' })).body;
      for (const set of sets) await jwtVerify(token, createLocalJWKSet(set), { issuer: 'https://accounts.sandbox.coinop' });
    }
    // The keys stay in Redis without expiry, for the next start.
    await using later = await start({ redis: redis.location });
    expect((await later.get('/sandbox/jwks.json')).body).toEqual(sets[0]);
    expect(await first.service.redis.ttl('{sandbox:keys}')).toBe(-1);
  });

  test('every purpose has a separate key', async () => {
    const keys = await keptKeys(service);
    expect(Object.keys(keys)).toEqual(['tokens', 'serviceAccount', 'accessTokens', 'integrityDecryption', 'integritySigning']);
    expect(new Set(Object.values(keys)).size).toBe(5);
  });

  test('a failed read of the keys is retried at the next request', async () => {
    let asked = 0;
    const run = async (_script: object, _keys: object, { made }: { made: string }): Promise<string[]> => {
      if (++asked === 1) throw new Error('Connection is closed.');
      return made === '' ? ['none'] : ['kept', made];
    };
    const keys = new SandboxKeys({ run } as unknown as ScriptRunner);
    await expect(keys.get()).rejects.toThrow('Connection is closed.');
    const [one, other] = await Promise.all([keys.get(), keys.get()]);
    expect(one.jwks.keys).toHaveLength(1);
    expect(other).toBe(one);
    expect(asked).toBe(3);
  });
});
