import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { OPEN_MS } from '../../../src/stores/circuit.ts';
import { GoogleApi } from '../../../src/stores/google/google-api.ts';
import { activeUntil, FakeGoogle, googleError, PACKAGE, passingFaults } from '../../features/purchases/subscription/fake-google.ts';
import { refusal } from './issuer.ts';

const TOKEN = 'purchase-token-of-somebody';
const AWAY = { code: 'app_store_unavailable', message: 'The app store does not answer just now: try again.' };

/** A store client of this Google with a movable clock. */
function storeOf(google: FakeGoogle) {
  let [offset, setBy] = [0, 0];
  const lines: string[] = [];
  const now = () => Date.now() + offset + setBy;
  google.now = now;
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const api = new GoogleApi({ settings: () => google.settings, log, now, wallClock: now, monotonic: () => performance.now() + offset });
  const url = `${google.settings.publisherUrl}/androidpublisher/v3/applications/${PACKAGE}/purchases/subscriptionsv2/tokens/${TOKEN}`;
  const ask = () => api.call({ method: 'GET', url });
  return {
    lines,
    advance: (milliseconds: number) => void (offset += milliseconds),
    /** As `setClock` of the harness. */
    setClock: (milliseconds: number) => void (setBy += milliseconds),
    ask,
    askMany: async () => new Set((await Promise.all(Array.from({ length: 20 }, ask))).map(({ status }) => status)),
    refusals: (count: number) => Promise.all(Array.from({ length: count }, () => refusal(ask()))),
  };
}

async function selling(): Promise<FakeGoogle> {
  const google = await FakeGoogle.start();
  google.sell(TOKEN, activeUntil('2099-01-01T00:00:00Z'));
  return google;
}

// The tests run at the same time, because they mostly wait for the pauses between tries.
describe.concurrent('a call of the API', () => {
  test.each([400, 404, 410])('returns a %i without a retry', async (status) => {
    await using google = await selling();
    google.misbehaviour = googleError(status);
    expect(await storeOf(google).ask()).toMatchObject({ status });
    expect(google.asked).toBe(1);
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
  describe('is refused with app_store_unavailable after', () => {
    test.each(Object.entries(passingFaults))('%s', async (name, misbehaviour) => {
      await using faulty = await FakeGoogle.start();
      faulty.misbehaviour = misbehaviour;
      const { ask, lines } = storeOf(faulty);
      const [tries, retryAfterSeconds] = special[name] ?? [3, 5];
      expect(await refusal(ask())).toMatchObject({ ...AWAY, retryAfterMs: retryAfterSeconds * 1000 });
      expect(faulty.asked).toBe(tries);
      // The log contains neither the purchase token nor a credential.
      expect(lines.length).toBeGreaterThan(0);
      expect(lines.join('')).not.toMatch(/purchase-token|access-\d|ey[A-Z]/i);
    });
  });

  test.each(['a 503 in HTML', 'a cut connection', 'no JSON'])('and of its access token are retried after %s', async (name) => {
    await using google = await selling();
    for (const fault of ['misbehaviour', 'grantMisbehaviour'] as const) {
      google[fault] = (request, response) => {
        google[fault] = undefined;
        passingFaults[name]!(request, response);
      };
      expect((await storeOf(google).ask()).status).toBe(200);
    }
    expect([google.asked, google.grants]).toEqual([3, 3]);
  });

  test('follows no redirect with its access token', async () => {
    await using google = await selling();
    await using elsewhere = await FakeGoogle.start();
    google.misbehaviour = (_, response) => void response.writeHead(307, { location: `${elsewhere.settings.publisherUrl}/x` }).end();
    await refusal(storeOf(google).ask());
    expect(elsewhere.asked).toBe(0);
  });
});

describe.concurrent('the access token', () => {
  test('is requested once by 20 concurrent calls, and renewed once, a minute before it expires or when the API refuses it', async () => {
    await using google = await selling();
    const { askMany, advance } = storeOf(google);
    expect([await askMany(), google.grants]).toEqual([new Set([200]), 1]);
    advance(3_530_000);
    expect([await askMany(), google.grants]).toEqual([new Set([200]), 1]);
    advance(15_000);
    expect([await askMany(), google.grants]).toEqual([new Set([200]), 2]);
    google.refuseTokens();
    expect([await askMany(), google.grants]).toEqual([new Set([200]), 3]);
  });

  test.each([
    ['no token', '{"expires_in":3600}'],
    ['a token that no header can hold', '{"access_token":"a b","expires_in":3600}'],
    ['a token that has expired', '{"access_token":"access-1","expires_in":0}'],
  ])('is requested again after %s', async (_, body) => {
    await using google = await selling();
    google.grantMisbehaviour = (__, response) => {
      google.grantMisbehaviour = undefined;
      response.writeHead(200).end(body);
    };
    expect([(await storeOf(google).ask()).status, google.grants]).toEqual([200, 2]);
  });

  test.each([
    ['{"error":"invalid_grant","error_description":"secret"}', 'invalid_grant'],
    ['{"error":"some secret text"}', '400'],
  ])('that Google refuses is logged as an error once a minute, without secrets: %s', async (body, reason) => {
    await using google = await selling();
    google.grantMisbehaviour = (_, response) => void response.writeHead(400).end(body);
    const { refusals, lines, advance } = storeOf(google);
    const complaints = () => lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50);
    expect(await refusals(3)).toMatchObject([AWAY, AWAY, AWAY]);
    expect(complaints().map((line) => line.reason)).toEqual([`no access token: ${reason}`]);
    expect(lines.join('')).not.toContain('secret');
    advance(60_000);
    await refusals(1);
    expect(complaints()).toHaveLength(2);
    expect(google.asked).toBe(0);
  });
});

describe.concurrent('the circuit breaker', () => {
  test.each([0, -3_600_000, 3_600_000])('opens after five failed calls, for its pause, with a clock set by %i ms', async (set) => {
    await using google = await selling();
    const { ask, refusals, advance, setClock } = storeOf(google);
    google.misbehaviour = googleError(500);
    await refusals(5);
    expect(google.asked).toBe(15);
    setClock(set);
    for (const refused of await refusals(20))
      expect(refused).toMatchObject({ ...AWAY, retryAfterMs: expect.toSatisfy((wait: number) => wait <= OPEN_MS) });
    expect(google.asked).toBe(15);
    google.misbehaviour = undefined;
    advance(OPEN_MS);
    expect((await ask()).status).toBe(200);
  });

  test('lets one call through after a pause and closes when that call succeeds', async () => {
    await using google = await selling();
    const { ask, askMany, refusals, advance } = storeOf(google);
    google.misbehaviour = googleError(500);
    await refusals(5);
    advance(OPEN_MS);
    await refusals(20);
    expect(google.asked).toBe(15 + 3);
    google.misbehaviour = undefined;
    await refusals(1);
    advance(OPEN_MS);
    expect((await ask()).status).toBe(200);
    expect(await askMany()).toEqual(new Set([200]));
  });

  test('starts to count again after a success, and does not count a 403 as a failure', async () => {
    await using google = await selling();
    const { ask, refusals } = storeOf(google);
    for (const [status, count] of [
      [500, 4],
      [500, 4],
      [403, 8],
    ] as const) {
      google.misbehaviour = googleError(status);
      await refusals(count);
      google.misbehaviour = undefined;
      expect((await ask()).status).toBe(200);
    }
  });
});
