import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ServerResponse } from 'node:http';
import { Diagnosis } from '../../../src/apart/doctor/diagnosis.ts';
import { examineSignIns } from '../../../src/apart/doctor/sign-ins.ts';
import { readSettings } from '../../../src/config.ts';
import { IssuerKeys } from '../../../src/stores/openid/issuer-keys.ts';
import { Issuer, jwkOf, refusal, rsaKey } from '../google/issuer.ts';

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;

const [first, second] = [rsaKey('first'), rsaKey('second')];

let issuer: Issuer;
let keys: IssuerKeys;
beforeEach(async () => {
  issuer = await Issuer.start([first]);
  keys = new IssuerKeys({ keysUrl: () => issuer.settings.jwksUrl }, issuer.parts);
});
afterEach(() => issuer[Symbol.asyncDispose]());

const find = (kid: string) => keys.find({ alg: 'RS256', kid });
const isFound = async (kid: string): Promise<boolean> => (await find(kid)) !== undefined;
const flood = (size: number): Promise<boolean[]> => Promise.all(Array.from({ length: size }, (_, index) => isFound(`kid-${index}`)));
const down = (response: ServerResponse): void => void response.writeHead(500).end('{}');

describe('IssuerKeys', () => {
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
    issuer.advance(10 * SECOND_MS);
    expect([await isFound('second'), await isFound('first'), issuer.fetches]).toEqual([true, false, 2]);
  });
});

describe('a flood of unknown kids', () => {
  test('causes one fetch in 10 s', async () => {
    for (const [seconds, fetches] of [
      [0, 1],
      [5, 1],
      [5, 2],
    ] as const) {
      issuer.advance(seconds * SECOND_MS);
      expect(new Set(await flood(60))).toEqual(new Set([false]));
      expect(issuer.fetches).toBe(fetches);
    }
  });

  test('causes one fetch in 10 s while the store is down, and known keys stay usable', async () => {
    expect(await isFound('first')).toBe(true);
    issuer.fault = down;
    issuer.advance(10 * SECOND_MS);
    for (let wave = 0; wave < 3; wave++) {
      const outcomes = await Promise.all(Array.from({ length: 20 }, (_, index) => refusal(find(`kid-${index}`))));
      for (const outcome of outcomes) expect(outcome).toMatchObject({ code: 'app_store_unavailable', status: 503 });
      expect(await isFound('first')).toBe(true);
    }
    expect(issuer.fetches).toBe(2);
  });
});

describe('while the store fails', () => {
  test('requests without cached keys are refused with app_store_unavailable, with one fetch in 10 s', async () => {
    issuer.fault = down;
    const refusals = () => Promise.all(Array.from({ length: 20 }, () => refusal(find('first'))));
    const between = (least: number, most: number) =>
      Array(20).fill({
        code: 'app_store_unavailable',
        status: 503,
        message: 'The app store does not answer just now: try again.',
        retryAfterMs: expect.toSatisfy((wait: number) => wait > least && wait <= most),
      });
    expect(await refusals()).toEqual(between(5_000, 10_000));
    issuer.fault = undefined;
    issuer.advance(5 * SECOND_MS);
    expect([await refusals(), issuer.fetches]).toEqual([between(0, 5_000), 1]);
    issuer.advance(5 * SECOND_MS);
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
    issuer.advance(24 * HOUR_MS);
    expect(await isFound('first')).toBe(true);
    expect(await refusal(find('third'))).toMatchObject({ code: 'app_store_unavailable' });
    expect(issuer.fetches).toBe(2);
    expect(issuer.logLines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 40, msg: 'the keys of an issuer of ID tokens could not be fetched' },
    ]);
    // After the fault the fetched keys are used: the first key is withdrawn.
    issuer.fault = undefined;
    issuer.keys = [jwkOf(second)];
    issuer.advance(10 * SECOND_MS);
    expect([await isFound('first'), await isFound('second'), issuer.fetches]).toEqual([false, true, 3]);
  });

  test.each([-HOUR_MS, HOUR_MS])('a clock that is set by %i ms neither delays nor hastens the next fetch', async (set) => {
    issuer.fault = down;
    await refusal(find('first'));
    issuer.fault = undefined;
    issuer.setClock(set);
    await refusal(find('first'));
    issuer.advance(10 * SECOND_MS);
    expect([await isFound('first'), issuer.fetches]).toEqual([true, 2]);
  });
});

describe('an issuer with a discovery document', () => {
  const SOURCE = { allowsLoopbackHttp: true };
  const log = (): unknown[] => issuer.logLines.map((line) => JSON.parse(line).fault);
  beforeEach(() => (keys = new IssuerKeys({ ...SOURCE, issuer: issuer.url }, issuer.parts)));

  test('names its keys there, and is asked once an hour', async () => {
    expect([await isFound('first'), issuer.discoveries, issuer.fetches]).toEqual([true, 1, 1]);
    issuer.advance(10 * SECOND_MS);
    expect([await isFound('second'), issuer.discoveries, issuer.fetches]).toEqual([false, 1, 2]);
    issuer.advance(HOUR_MS);
    expect([await isFound('first'), issuer.discoveries, issuer.fetches]).toEqual([true, 2, 3]);
  });

  test('is asked again after its keys could not be fetched, because they may have moved', async () => {
    issuer.fault = down;
    expect(await refusal(find('first'))).toMatchObject({ code: 'app_store_unavailable' });
    issuer.fault = undefined;
    issuer.advance(10 * SECOND_MS);
    expect([await isFound('first'), issuer.discoveries]).toEqual([true, 2]);
  });

  test.each<[name: string, document: () => object, fault: string]>([
    [
      'of another issuer',
      () => ({ issuer: 'https://accounts.google.com', jwks_uri: issuer.settings.jwksUrl }),
      'the discovery document of another issuer',
    ],
    [
      'of the same issuer, in another spelling',
      () => ({ issuer: `${issuer.url}/`, jwks_uri: issuer.settings.jwksUrl }),
      'the discovery document of another issuer',
    ],
    ['with keys over http elsewhere', () => ({ issuer: issuer.url, jwks_uri: 'http://192.0.2.1/certs' }), 'jwks_uri must be https'],
    ['with a name and a password in its URL', () => ({ issuer: issuer.url, jwks_uri: 'https://a:b@192.0.2.1/' }), 'jwks_uri must be https'],
    ['without keys', () => ({ issuer: issuer.url }), 'no discovery document'],
    ['that is a list', () => [], 'no discovery document'],
  ])('is away with a document %s', async (_, document, fault) => {
    issuer.discovery = document();
    expect(await refusal(find('first'))).toMatchObject({ code: 'app_store_unavailable' });
    expect([log(), issuer.fetches]).toEqual([[fault], 0]);
  });

  test('must have its keys at https in production', async () => {
    keys = new IssuerKeys({ issuer: issuer.url, allowsLoopbackHttp: false }, issuer.parts);
    expect(await refusal(find('first'))).toMatchObject({ code: 'app_store_unavailable' });
    expect(log()).toEqual(['jwks_uri must be https']);
  });
});

test('the last known keys verify for a day after they were to be fetched again, and no longer', async () => {
  issuer.headers = {};
  expect(await isFound('first')).toBe(true);
  issuer.fault = down;
  issuer.advance(24 * HOUR_MS);
  expect(await isFound('first')).toBe(true);
  issuer.advance(300 * SECOND_MS);
  expect(await refusal(find('first'))).toMatchObject({ code: 'app_store_unavailable' });
});

test('the doctor tells of an issuer that cannot be reached, and of one whose clock differs', async () => {
  const diagnosed = async (url: string) => {
    const diagnosis = new Diagnosis();
    const { config } = readSettings({ OPENID_PROVIDERS: `acme=${url}=client` });
    await examineSignIns(config, diagnosis);
    return [diagnosis.facts.map(({ value }) => value), diagnosis.findings.map(({ kind }) => kind)];
  };
  expect(await diagnosed(issuer.url)).toEqual([[`${issuer.url}, 1 keys`], []]);
  issuer.headers = { date: new Date(Date.now() + 120_000).toUTCString() };
  expect(await diagnosed(issuer.url)).toEqual([[`${issuer.url}, 1 keys`], ['issuer_clock']]);
  expect(await diagnosed(`${issuer.url}/realm`)).toEqual([[], ['issuer_unreachable']]);
});
