import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { accountKey } from '../../../src/accounts/account-keys.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { refuse } from '../../../src/errors.ts';
import { endpoint, Reply, type Endpoint } from '../../../src/server/http/endpoint.ts';
import { redisUnavailable } from '../../../src/server/http/error-answer.ts';
import type { Reservations } from '../../../src/server/reservations.ts';
import { forFile, freshId, note, signIn, sleep, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { eventually } from '../../realtime/watcher.ts';
import { all, count, Lines, roomy } from '../connection-lines.ts';
import { startServer } from './own-server.ts';

const service = await forFile(start());

/** Posts these bytes, with these headers. */
const resolve = async (sent: string | Buffer, headers: Record<string, string> = {}) => {
  const response = await fetch(`${service.url}/v1/account/resolve`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: Buffer.from(sent),
  });
  const body = (await response.json()) as { error: { code: string; field?: string } };
  if (response.status !== 200) note(undefined, body.error.code);
  return { status: response.status, body };
};

describe('a JSON body', () => {
  test.each<[string, string | Buffer, code: string, field?: string]>([
    ['an empty body', '', 'invalid_json'],
    ['broken JSON', '{"installId":', 'invalid_json'],
    ['a trailing comma', '{"installId":"install-0001",}', 'invalid_json'],
    ['NaN', '{"installId":NaN}', 'invalid_json'],
    ['a byte order mark', '\uFEFF{"installId":"install-0001"}', 'invalid_json'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), 'invalid_json'],
    ...['[]', 'null', '1', '"text"', 'true'].map((text) => [text, text, 'invalid_request', 'body'] as [string, string, string, string]),
    ['half a surrogate pair', '{"installId":"install-\\ud800"}', 'invalid_request', 'installId'],
    // Sets nothing, neither on this body nor on any other object.
    ['__proto__', '{"__proto__":{"installId":"polluted-1"}}', 'invalid_request', 'installId'],
  ])('with %s is refused', async (_, text, code, field) => {
    const { status, body } = await resolve(text);
    expect([status, body.error.code, body.error.field]).toEqual([400, code, field]);
    expect(({} as { installId?: string }).installId).toBeUndefined();
  });

  test('with bad fields is refused, and the refusal names the first, and lists every issue', async () => {
    const { status, body } = await service.post('/v1/coins/credit', { installId: freshId(), coins: 0, key: '' });
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'coins']);
    expect(body.error.issues.map((issue: { path: string }) => issue.path)).toEqual(['coins', 'key']);
  });

  test('may have unknown fields, which are ignored', async () => {
    expect((await resolve(`{"constructor":1,"more":[],"installId":"${freshId()}"}`)).status).toBe(200);
  });

  test.each([
    ...['', 'text/plain', 'application/jsonp', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'].map(
      (value) => ['content-type', value, undefined] as const,
    ),
    ...['gzip', 'br', 'identity, gzip', 'GZIP', 'identityx'].map((value) => ['content-encoding', value, 'content-encoding'] as const),
  ])('with %s "%s" is refused as unsupported_media_type', async (header, value, field) => {
    const { status, body } = await resolve('{}', { [header]: value });
    expect([status, body.error.code, body.error.field]).toEqual([415, 'unsupported_media_type', field]);
  });

  test.each([
    ['content-type', ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset=UTF-8']],
    ['content-encoding', ['identity', 'Identity', ' identity , identity', '']],
  ])('is taken with each usual %s', async (header, values) => {
    for (const value of values)
      expect([value, (await resolve(JSON.stringify({ installId: freshId() }), { [header]: value })).status]).toEqual([value, 200]);
  });
});

/** An endpoint whose handler does what the test says. */
const handledBy = (
  handle: () => unknown,
  declaration: Partial<Pick<Endpoint<object>, 'method' | 'creates' | 'misses' | 'deadlineMs' | 'errors' | 'writesEntry' | 'costly'>> = {},
): Endpoint<object> => ({
  ...endpoint({
    method: 'GET',
    path: '/own',
    caller: 'none',
    summary: 'The test’s own.',
    reply: z.object({}),
    example: '',
    handle: () => ({}),
  }),
  handle,
  ...declaration,
});

describe('costly requests', () => {
  /** A costly endpoint whose handler waits until the test opens it. */
  function gated(then: () => object = () => ({})) {
    const gate = { calls: 0, ...Promise.withResolvers<void>() };
    const handle = () => (gate.calls++, gate.promise.then(then));
    return Object.assign(gate, { endpoint: handledBy(handle, { costly: true }) });
  }

  test('run one at a time, a few of an address wait, and further ones are 429', async () => {
    const gate = gated();
    await using server = await startServer([gate.endpoint]);
    const early: Awaited<ReturnType<typeof ask>>[] = [];
    const answers = all(30, async () => early[early.push(await ask(server)) - 1]!);
    await eventually(() => early.length === 30 - 17);
    for (const { status, body } of early)
      expect([status, body.error]).toMatchObject([429, { code: 'rate_limited', message: expect.stringContaining('one after the other') }]);
    expect(gate.calls).toBe(1);
    gate.resolve();
    expect(count(await answers, 200)).toBe(17);
  });

  test('that wait take no place among the requests in flight', async () => {
    const gate = gated();
    const other = { ...handledBy(() => ({})), path: '/other' };
    await using server = await startServer([gate.endpoint, other], undefined, { maxInFlight: 4 });
    const waiting = all(9, () => ask(server));
    await eventually(() => gate.calls === 1);
    // The server reads the connections in the order in which they came.
    await sleep(20);
    const { status } = await fetch(`${server.url}/other`);
    gate.resolve();
    expect([status, ...(await waiting).map((answer) => answer.status)]).toEqual(Array(10).fill(200));
  });

  test('that fail, and those whose client has gone, leave their turn', async () => {
    const gate = gated(() => thrown(new Error('broken')));
    await using server = await startServer([gate.endpoint]);
    const first = ask(server);
    await eventually(() => gate.calls === 1);
    const gone = new AbortController();
    const statuses: (number | 'gone')[] = [];
    const left = all(20, () =>
      fetch(`${server.url}/own`, { signal: gone.signal }).then(
        ({ status }) => statuses.push(status),
        () => statuses.push('gone'),
      ),
    );
    await eventually(() => statuses.length === 4);
    gone.abort();
    await left;
    expect(statuses).toEqual([...Array<number>(4).fill(429), ...Array<string>(16).fill('gone')]);
    const next = ask(server);
    gate.resolve();
    expect([(await first).status, (await next).status, gate.calls]).toEqual([500, 500, 2]);
  });
});

async function ask(server: { url: string }, method = 'GET') {
  const body = method === 'POST' ? { body: '{}', headers: { 'content-type': 'application/json' } } : {};
  const response = await fetch(`${server.url}/own`, { method, ...body });
  return { status: response.status, headers: response.headers, body: (await response.json()) as { error: Record<string, unknown> } };
}

describe("a handler's end", () => {
  const late = (outcome: () => unknown) => async () => {
    await sleep(1);
    return outcome();
  };
  const fail = (error: Error) => () => {
    throw error;
  };

  describe.each<[string, (outcome: () => unknown) => () => unknown]>([
    ['at once', (outcome) => outcome],
    ['later', late],
  ])('%s', (_, when) => {
    const refusal = { ok: false, error: { code: 'not_host', message: 'Only the host of the room may do this.' } };
    test.each<[string, () => unknown, number, object]>([
      ['a body', () => ({ a: 1 }), 200, { ok: true, a: 1 }],
      ['a reply', () => new Reply({ a: 1 }, { status: 410 }), 410, { ok: true, a: 1 }],
      ['a refusal', () => refuse('not_host'), 403, refusal],
      ['a thrown refusal', fail(refuse('not_host')), 403, refusal],
    ])('%s is answered', async (_what, outcome, status, body) => {
      await using server = await startServer([handledBy(when(outcome))]);
      expect(await ask(server)).toMatchObject({ status, body });
    });

    test('an error that no code foresees is answered 500 and logged, and its message stays inside', async () => {
      await using server = await startServer([handledBy(when(fail(new Error('the secret of the house'))))]);
      const { status, body, headers } = await ask(server);
      expect([status, body.error]).toEqual([500, { code: 'internal', message: 'Something went wrong here.' }]);
      const logged = server.logLines.map((line) => JSON.parse(line) as object);
      const err = { message: expect.stringContaining('the secret of the house') };
      expect(logged).toMatchObject([{ msg: 'request failed', route: '/own', requestId: headers.get('x-request-id'), err }]);
    });
  });

  test.each([
    ['a write whose connection to Redis broke', 'Connection is closed.', 'POST', 'unknown'],
    ['a write that Redis refused before it ran', 'OOM command not allowed', 'POST', undefined],
    ['a write that was never sent to Redis', "Stream isn't writeable", 'POST', undefined],
    ['a read whose connection to Redis broke', 'Connection is closed.', 'GET', undefined],
  ] as const)('%s is answered 503 (%s), and %s has the outcome %s', async (_, message, method, outcome) => {
    await using server = await startServer([handledBy(late(fail(new Error(message))), { method })]);
    const { status, body, headers } = await ask(server, method);
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    expect([body.error['code'], body.error['outcome']]).toEqual(['store_unavailable', outcome]);
  });

  test('a handler that takes longer than its deadline is answered for, and its later answer is dropped', async () => {
    const over = Promise.withResolvers<object>();
    await using server = await startServer([handledBy(() => over.promise, { method: 'POST', deadlineMs: 100 })]);
    const { status, body } = await ask(server, 'POST');
    expect([status, body.error['code'], body.error['outcome']]).toEqual([503, 'store_unavailable', 'unknown']);
    over.resolve({});
    expect((await fetch(`${server.url}/nothing`)).status).toBe(404);
  });
});

/** Reservations that stay open until the test answers them: those of a worker whose primary is slow. */
class SlowReservations implements Reservations {
  readonly settled: string[] = [];
  readonly #open: PromiseWithResolvers<number>[] = [];
  take(): Promise<number> {
    const reservation = Promise.withResolvers<number>();
    this.#open.push(reservation);
    return reservation.promise;
  }
  takeDaily(): { count: number; waitMs: number } {
    this.settled.push('took');
    return { count: 1, waitMs: 0 };
  }
  giveBackDaily(_kind: string, _group: string, count: number): void {
    this.settled.push(`gave back ${count}`);
  }
  giveBack(kind: string): void {
    this.settled.push(`gave back ${kind}`);
  }
  spend(kind: string): void {
    this.settled.push(`kept ${kind}`);
  }
  get openCount(): number {
    return this.#open.length;
  }
  /** Resolves after all effects of the answer. */
  async answer(waitMs: number): Promise<void> {
    this.#open.shift()!.resolve(waitMs);
    await sleep(10);
  }
}

describe('a request whose reservation takes long', () => {
  const post = 'POST /own HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}';
  const kinds = [
    ['creation', { creates: true }, []],
    ['miss', { misses: ['not_host'] }, ['gave back misses']],
  ] as const;

  /** A server whose one endpoint counts how often it was handled. */
  async function slow(declaration: Parameters<typeof handledBy>[1]) {
    const reservations = new SlowReservations();
    let handled = 0;
    const endpoint = handledBy(() => ({ handled: ++handled }), { method: 'POST', deadlineMs: 100, ...declaration });
    const server = await startServer([endpoint], reservations);
    return { server, reservations, handled: () => handled, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  }

  test.each([
    ['handled when it is reserved', 0, 200, undefined, 1],
    ['refused with a waiting time if nothing is left', 2500, 429, 2500, 0],
  ])('is %s', async (_, waitMs, status, retryAfterMs, handled) => {
    await using it = await slow({ creates: true, deadlineMs: 10_000 });
    const answer = ask(it.server, 'POST');
    await eventually(() => it.reservations.openCount === 1);
    expect(it.handled()).toBe(0);
    await it.reservations.answer(waitMs);
    const reply = await answer;
    expect([reply.status, reply.body.error?.['retryAfterMs'], it.handled()]).toEqual([status, retryAfterMs, handled]);
  });

  test.each(kinds)('is never handled when its %s is reserved after the answer 503', async (_, declaration, settledBy) => {
    await using it = await slow(declaration);
    const { status, body } = await ask(it.server, 'POST');
    // Without `outcome` the answer says that nothing was written.
    expect([status, body.error]).toEqual([503, { code: 'store_unavailable', message: expect.any(String), retryAfterMs: 1000 }]);
    await it.reservations.answer(0);
    expect([it.handled(), it.reservations.settled]).toEqual([0, settledBy]);
  });

  test.each(kinds)('is never handled when its %s is reserved after its client went away', async (_, declaration, settledBy) => {
    await using it = await slow({ ...declaration, deadlineMs: 10_000 });
    {
      using lines = new Lines(it.server);
      (await lines.open()).socket.write(post);
      await eventually(() => it.reservations.openCount === 1);
    }
    // The server learns of the end with its next turn.
    expect((await fetch(`${it.server.url}/nothing`)).status).toBe(404);
    await it.reservations.answer(0);
    expect([it.handled(), it.reservations.settled]).toEqual([0, settledBy]);
  });
});

describe('an endpoint that writes an entry to a ledger', () => {
  const writesEntry = ({ written }: { written?: boolean }): boolean => written === true;

  test.each<[string, number, () => unknown, string[]]>([
    ['gives it back where none was, in a reply', 200, () => new Reply({ written: false }), ['took', 'gave back 1']],
    ['gives it back where Redis is away and nothing was sent', 503, () => thrown(redisUnavailable(false)), ['took', 'gave back 1']],
    ['keeps it where Redis may have written the entry', 503, () => thrown(redisUnavailable(true)), ['took']],
    ['keeps it after an unexpected error', 500, () => thrown(new Error('unexpected')), ['took']],
  ])('%s', async (_, expected, answer, settled) => {
    const reservations = new SlowReservations();
    const endpoint = handledBy(async () => answer() as object, { method: 'POST', errors: ['not_host'], writesEntry });
    await using server = await startServer([endpoint], reservations);
    expect([(await ask(server, 'POST')).status, reservations.settled]).toEqual([expected, settled]);
  });

  test('keeps it when the deadline passes, and gives it back if the late answer shows that nothing was written', async () => {
    const reservations = new SlowReservations();
    const answers: PromiseWithResolvers<object>[] = [];
    const handler = (): Promise<object> => (answers.push(Promise.withResolvers()), answers.at(-1)!.promise);
    await using server = await startServer([handledBy(handler, { method: 'POST', deadlineMs: 50, writesEntry })], reservations);
    for (let times = 0; times < 2; times++)
      expect((await ask(server, 'POST')).body['error']).toMatchObject({ code: 'store_unavailable', outcome: 'unknown' });
    answers[0]!.resolve({ written: true });
    answers[1]!.resolve({ written: false });
    await eventually(() => reservations.settled.length === 3);
    expect(reservations.settled).toEqual(['took', 'took', 'gave back 1']);
  });
});

function thrown(error: Error): never {
  throw error;
}

test('a login whose bearer was checked after the 503 of the deadline opens no account', async () => {
  await using redis = await startRedis();
  await using paused = await start({ redis: redis.location, settings: roomy, stoppedClock: true, redisDeadlineMs: 2000 });
  const bearer = (await signIn(paused, freshId())).slice('svc_session='.length);
  const installId = freshId();
  // Longer than an answer may take, shorter than the silence after which the link to Redis is given up.
  await paused.service.redis.call('CLIENT', 'PAUSE', '2400', 'ALL');
  const { status, body } = await paused.post('/v1/login', { installId }, { bearer });
  expect([status, body.error.code]).toEqual([503, 'store_unavailable']);
  // The service answers after the check of the bearer.
  await eventually(async () => (await paused.get('/v1/session', { bearer })).body.authenticated === true);
  await sleep(100);
  expect(await paused.service.redis.exists(accountKey(accountIdOf(installId)))).toBe(0);
  await paused.post('/v1/login', { installId }, { bearer });
  expect(await paused.service.redis.exists(accountKey(accountIdOf(installId)))).toBe(1);
});
