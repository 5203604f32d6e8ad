import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Refusal } from '../../../src/errors.ts';
import { OPEN_MS } from '../../../src/stores/google/circuit.ts';
import { GoogleApi } from '../../../src/stores/google/google-api.ts';
import type { GoogleSettings } from '../../../src/stores/google/settings.ts';
import { FakeGoogle, googleError, PACKAGE, passingFaults } from '../../features/subscription/fake-google.ts';

const TOKEN = 'purchase-token-of-somebody';
const SOLD = { subscriptionState: 'SUBSCRIPTION_STATE_ACTIVE', lineItems: [{ productId: 'gold', expiryTime: '2099-01-01T00:00:00Z' }] };

/** A store client of this Google with a movable clock. */
function storeOf(google: FakeGoogle, settings: Partial<GoogleSettings> = {}) {
  let offset = 0;
  const lines: string[] = [];
  let setBy = 0;
  const now = () => Date.now() + offset + setBy;
  const monotonic = () => performance.now() + offset;
  google.now = now;
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const api = new GoogleApi({ settings: () => ({ ...google.settings, ...settings }), log, now, wallClock: now, monotonic });
  const url = `${google.settings.publisherUrl}/androidpublisher/v3/applications/${PACKAGE}/purchases/subscriptionsv2/tokens/${TOKEN}`;
  return {
    lines,
    advance: (milliseconds: number) => void (offset += milliseconds),
    /** As `setClock` of the harness. */
    setClock: (milliseconds: number) => void (setBy += milliseconds),
    ask: () => api.call({ method: 'GET', url }),
    acknowledge: () => api.call({ method: 'POST', url: url.replace('subscriptionsv2/', 'subscriptions/gold/') + ':acknowledge', body: {} }),
  };
}

async function refusalOf(call: Promise<unknown>) {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Refusal);
  return error as Refusal;
}

let google: FakeGoogle;
beforeEach(async () => {
  google = await FakeGoogle.start();
  google.sell(TOKEN, SOLD);
});
afterEach(() => google[Symbol.asyncDispose]());

describe('a call of the API', () => {
  test('returns the status and body of Google, and an empty body for a 204', async () => {
    const { ask, acknowledge } = storeOf(google);
    expect(await ask()).toMatchObject({ status: 200, body: SOLD });
    expect(await acknowledge()).toEqual({ status: 204, body: {} });
    expect(google.acknowledgements).toEqual([TOKEN]);
  });

  test.each([400, 404, 410])('returns a %i without a retry', async (status) => {
    google.misbehaviour = googleError(status);
    expect(await storeOf(google).ask()).toMatchObject({ status });
    expect(google.asked).toBe(1);
  });

  test('is refused with store_unconfigured without a service account', async () => {
    expect((await refusalOf(storeOf(google, { serviceAccount: undefined }).ask())).code).toBe('store_unconfigured');
  });

  /** How often Google is asked, and the seconds of retryAfterMs, where they are not 3 and 5. */
  const special: Record<string, [tries: number, retryAfterSeconds: number]> = {
    // Google refuses the first access token, then the second.
    'a 401 that stays': [2, 60],
    'a 403': [1, 60],
    'a 429 that asks for an hour': [1, 3600],
    'no answer': [2, 5],
    'a redirect': [1, 60],
  };
  describe.concurrent('is refused with app_store_unavailable after', () => {
    test.each(Object.entries(passingFaults))('%s', async (name, misbehaviour) => {
      await using faulty = await FakeGoogle.start();
      faulty.misbehaviour = misbehaviour;
      const { ask, lines } = storeOf(faulty);
      const [tries, retryAfterSeconds] = special[name] ?? [3, 5];
      const { code, message, details } = await refusalOf(ask());
      expect([code, message]).toEqual(['app_store_unavailable', 'The app store does not answer just now: try again.']);
      expect([faulty.asked, details.retryAfterMs]).toEqual([tries, retryAfterSeconds * 1000]);
      // The log contains neither the purchase token nor a credential.
      expect(lines.length).toBeGreaterThan(0);
      expect(lines.join('')).not.toMatch(/purchase-token|access-\d|ey[A-Z]/i);
    });
  });

  test.each(['a 503 in HTML', 'a cut connection', 'no JSON'])('and of its access token are retried after %s', async (name) => {
    for (const fault of ['misbehaviour', 'grantMisbehaviour'] as const) {
      google[fault] = (request, response) => {
        google[fault] = undefined;
        passingFaults[name]!(request, response);
      };
      expect((await storeOf(google).ask()).status).toBe(200);
    }
    expect([google.asked, google.grants]).toEqual([3, 3]);
  });

  test('waits for the Retry-After of Google when the time budget allows it', async () => {
    google.misbehaviour = (request, response) => {
      google.misbehaviour = undefined;
      googleError(429, { 'retry-after': '1' })(request, response);
    };
    const startedAt = performance.now();
    expect((await storeOf(google).ask()).status).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThan(990);
  });

  test('follows no redirect with its access token', async () => {
    await using elsewhere = await FakeGoogle.start();
    google.misbehaviour = (_, response) => void response.writeHead(307, { location: `${elsewhere.settings.publisherUrl}/x` }).end();
    await refusalOf(storeOf(google).ask());
    expect(elsewhere.asked).toBe(0);
  });
});

describe('the access token', () => {
  const askMany = async (ask: () => Promise<{ status: number }>) =>
    expect(new Set((await Promise.all(Array.from({ length: 20 }, ask))).map(({ status }) => status))).toEqual(new Set([200]));

  test('is requested once by 20 concurrent calls, and renewed once, a minute before it expires', async () => {
    const { ask, advance } = storeOf(google);
    await askMany(ask);
    advance(3_530_000);
    await ask();
    expect(google.grants).toBe(1);
    advance(15_000);
    await askMany(ask);
    expect(google.grants).toBe(2);
  });

  test('is renewed once when the API refuses it', async () => {
    const { ask } = storeOf(google);
    await ask();
    google.refuseTokens();
    await askMany(ask);
    expect(google.grants).toBe(2);
  });

  test('that Google refuses is logged as an error once a minute, without secrets', async () => {
    google.grantMisbehaviour = (_, response) => void response.writeHead(400).end('{"error":"invalid_grant","error_description":"secret"}');
    const { ask, lines, advance } = storeOf(google);
    const complaints = () => lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50);
    for (let count = 0; count < 3; count++) expect((await refusalOf(ask())).code).toBe('app_store_unavailable');
    expect(complaints().map(({ reason }) => reason)).toEqual(['no access token: invalid_grant']);
    expect(lines.join('')).not.toContain('secret');
    advance(60_000);
    await refusalOf(ask());
    expect(complaints()).toHaveLength(2);
    expect(google.asked).toBe(0);
  });

  test('is not requested with a malformed private key', async () => {
    const account = await google.settings.serviceAccount!();
    const privateKey = '-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----';
    const { ask, lines } = storeOf(google, { serviceAccount: () => Promise.resolve({ ...account, privateKey }) });
    expect((await refusalOf(ask())).code).toBe('app_store_unavailable');
    expect(google.grants).toBe(0);
    expect(lines.join('')).not.toContain('secret');
  });
});

describe('the circuit breaker', () => {
  const fail = async (ask: () => Promise<unknown>, times = 5) => {
    google.misbehaviour = googleError(500);
    await Promise.all(Array.from({ length: times }, () => refusalOf(ask())));
  };

  test.each([0, -3_600_000, 3_600_000])('opens after five failed calls, for its pause, with a clock set by %i ms', async (set) => {
    const { ask, advance, setClock } = storeOf(google);
    await fail(ask);
    expect(google.asked).toBe(15);
    setClock(set);
    const refusals = await Promise.all(Array.from({ length: 20 }, () => refusalOf(ask())));
    expect(new Set(refusals.map(({ code }) => code))).toEqual(new Set(['app_store_unavailable']));
    expect(refusals[0]!.details.retryAfterMs).toBeLessThanOrEqual(OPEN_MS);
    expect(google.asked).toBe(15);
    google.misbehaviour = undefined;
    advance(OPEN_MS);
    expect((await ask()).status).toBe(200);
  });

  test('lets one call through after a pause and closes when that call succeeds', async () => {
    const { ask, advance } = storeOf(google);
    await fail(ask);
    advance(OPEN_MS);
    await Promise.all(Array.from({ length: 20 }, () => refusalOf(ask())));
    expect(google.asked).toBe(15 + 3);
    google.misbehaviour = undefined;
    await refusalOf(ask());
    advance(OPEN_MS);
    expect((await ask()).status).toBe(200);
    expect((await Promise.all([ask(), ask()])).map(({ status }) => status)).toEqual([200, 200]);
  });

  test('starts to count again after a success, and does not count a 403 as a failure', async () => {
    const { ask } = storeOf(google);
    for (let round = 0; round < 2; round++) {
      await fail(ask, 4);
      google.misbehaviour = undefined;
      expect((await ask()).status).toBe(200);
    }
    google.misbehaviour = googleError(403);
    for (let count = 0; count < 8; count++) await refusalOf(ask());
    google.misbehaviour = undefined;
    expect((await ask()).status).toBe(200);
  });
});
