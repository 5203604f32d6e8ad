import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ServerResponse } from 'node:http';
import { GoogleKeys } from '../../../src/stores/google/public-keys.ts';
import { Issuer, jwkOf, refusal, rsaKey } from './issuer.ts';

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;

const [first, second] = [rsaKey('first'), rsaKey('second')];

let issuer: Issuer;
let keys: GoogleKeys;
beforeEach(async () => {
  issuer = await Issuer.start([first]);
  keys = new GoogleKeys(issuer.parts);
});
afterEach(() => issuer[Symbol.asyncDispose]());

const find = (kid: string) => keys.find({ alg: 'RS256', kid });
const isFound = async (kid: string): Promise<boolean> => (await find(kid)) !== undefined;
const flood = (size: number): Promise<boolean[]> => Promise.all(Array.from({ length: size }, (_, index) => isFound(`kid-${index}`)));
const down = (response: ServerResponse): void => void response.writeHead(500).end('{}');

describe('GoogleKeys', () => {
  test('finds each key by its kid, and fetches the keys once for concurrent requests', async () => {
    issuer.keys = [first, second].map(jwkOf);
    const found = await Promise.all([find('first'), find('second')]);
    expect(found[0]).not.toBe(found[1]);
    expect(await find('first')).toBe(found[0]);
    expect(await isFound('third')).toBe(false);
    expect(issuer.fetches).toBe(1);
  });

  test.each<[name: string, key: () => object]>([
    ['without a kid', () => ({ ...jwkOf(first), kid: undefined })],
    ['for encryption', () => ({ ...jwkOf(first), use: 'enc' })],
    ['for another algorithm', () => ({ ...jwkOf(first), alg: 'RS512' })],
    ['of another kind', () => ({ kty: 'oct', k: 'c2VjcmV0', kid: 'first' })],
  ])('ignores keys %s', async (_, key) => {
    issuer.keys = [key(), jwkOf(second)];
    expect([await isFound('first'), await isFound('second')]).toEqual([false, true]);
  });
});

describe('the age of cached keys', () => {
  test.each<[seconds: number, reason: string, headers: Record<string, string>]>([
    [3600, 'max-age', { 'cache-control': 'public, max-age=3600, must-revalidate' }],
    [3000, 'max-age less age', { 'cache-control': 'max-age=3600', age: '600' }],
    [300, 'the minimum of five minutes', { 'cache-control': 'max-age=1' }],
    [300, 'the minimum, without the header', {}],
    [86_400, 'the maximum of a day', { 'cache-control': 'max-age=31536000' }],
  ])('is at most %i s: %s', async (seconds, _, headers) => {
    issuer.headers = headers;
    expect(await isFound('first')).toBe(true);
    issuer.advance((seconds - 20) * SECOND_MS);
    expect([await isFound('first'), issuer.fetches]).toEqual([true, 1]);
    issuer.advance(20 * SECOND_MS);
    expect([await isFound('first'), issuer.fetches]).toEqual([true, 2]);
  });

  test('does not delay a new key, because an unknown kid causes a fetch, and ends that of a withdrawn key', async () => {
    expect(await isFound('first')).toBe(true);
    issuer.keys = [jwkOf(second)];
    issuer.advance(30 * SECOND_MS);
    expect([await isFound('second'), await isFound('first'), issuer.fetches]).toEqual([true, false, 2]);
  });
});

describe('a flood of unknown kids', () => {
  test('causes one fetch in 30 s', async () => {
    for (const [seconds, fetches] of [
      [0, 1],
      [15, 1],
      [15, 2],
    ] as const) {
      issuer.advance(seconds * SECOND_MS);
      expect(new Set(await flood(60))).toEqual(new Set([false]));
      expect(issuer.fetches).toBe(fetches);
    }
  });

  test('causes one fetch in 30 s while the store is down, and known keys stay usable', async () => {
    expect(await isFound('first')).toBe(true);
    issuer.fault = down;
    issuer.advance(30 * SECOND_MS);
    for (let wave = 0; wave < 3; wave++) {
      const outcomes = await Promise.all(Array.from({ length: 20 }, (_, index) => refusal(find(`kid-${index}`))));
      for (const outcome of outcomes) expect(outcome).toMatchObject({ code: 'app_store_unavailable', status: 503 });
      expect(await isFound('first')).toBe(true);
    }
    expect(issuer.fetches).toBe(2);
  });
});

describe('while the store fails', () => {
  test('requests without cached keys are refused with app_store_unavailable, with one fetch in 30 s', async () => {
    issuer.fault = down;
    const refusals = () => Promise.all(Array.from({ length: 20 }, () => refusal(find('first'))));
    const between = (least: number, most: number) =>
      Array(20).fill({
        code: 'app_store_unavailable',
        status: 503,
        message: 'The app store does not answer just now: try again.',
        retryAfterMs: expect.toSatisfy((wait: number) => wait > least && wait <= most),
      });
    expect(await refusals()).toEqual(between(15_000, 30_000));
    issuer.fault = undefined;
    issuer.advance(15 * SECOND_MS);
    expect([await refusals(), issuer.fetches]).toEqual([between(0, 15_000), 1]);
    issuer.advance(15 * SECOND_MS);
    expect([await isFound('first'), issuer.fetches]).toEqual([true, 2]);
  });

  test.each<[name: string, fault: (response: ServerResponse) => void]>([
    ['500', down],
    ['a redirect', (response) => void response.writeHead(302, { location: issuer.settings.jwksUrl }).end()],
    ['not JSON', (response) => void response.writeHead(200).end('<html>')],
    ['a list', (response) => void response.writeHead(200).end('[]')],
    ['no key of ours', (response) => void response.writeHead(200).end('{"keys":[{"kty":"oct","k":"AA","kid":"first"}]}')],
    ['keys that are none', (response) => void response.writeHead(200).end('{"keys":[null]}')],
    ['more than an answer holds', (response) => void response.writeHead(200).end(`{"keys":[${' '.repeat(64 * 1024)}]}`)],
    ['slower than 3 s', () => {}],
    ['a head and then silence', (response) => void response.writeHead(200).write('{"keys":[')],
  ])('cached keys stay valid: %s', async (_, fault) => {
    expect(await isFound('first')).toBe(true);
    issuer.fault = fault;
    issuer.advance(30 * 24 * HOUR_MS);
    expect(await isFound('first')).toBe(true);
    expect(await refusal(find('third'))).toMatchObject({ code: 'app_store_unavailable' });
    expect(issuer.fetches).toBe(2);
    expect(issuer.logLines.map((line) => JSON.parse(line))).toMatchObject([{ level: 40, msg: "the store's keys could not be fetched" }]);
    // After the fault the fetched keys are used: the first key is withdrawn.
    issuer.fault = undefined;
    issuer.keys = [jwkOf(second)];
    issuer.advance(30 * SECOND_MS);
    expect([await isFound('first'), await isFound('second'), issuer.fetches]).toEqual([false, true, 3]);
  });

  test.each([-HOUR_MS, HOUR_MS])('a clock that is set by %i ms neither delays nor hastens the next fetch', async (set) => {
    issuer.fault = down;
    await refusal(find('first'));
    issuer.fault = undefined;
    issuer.setClock(set);
    await refusal(find('first'));
    issuer.advance(30 * SECOND_MS);
    expect([await isFound('first'), issuer.fetches]).toEqual([true, 2]);
  });
});
