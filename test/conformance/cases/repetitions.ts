import type { Answer, Case, Step, StepOf } from '../case.ts';
import { again, failed, INSTALL, lost, ME, ok, refused } from './parts.ts';

const options = { installId: INSTALL };
const balance = 'GET /v1/balance';
const reads: Step = { call: 'coins.balance' };
const has = (balanceCoins: number): Step => ({ result: 'coins.balance', is: { ok: true, balanceCoins } });

/** A call that fails once by an answer, and then succeeds after a wait. */
const repeats = (name: string, failure: Partial<StepOf<'request'>>, retryAfterMs = 0): Case => ({
  ...{ name, kind: 'repetition', options: { installId: INSTALL, timeoutMs: 120_000 } },
  steps: [
    reads,
    { request: balance, ...failure },
    { request: balance, headers: ME, after: again(0, retryAfterMs), answer: ok({ balanceCoins: 12 }) },
    has(12),
  ],
});

/** A call that ends with the first answer. */
const ends = (name: string, failure: Partial<StepOf<'request'>>, is: StepOf<'result'>): Case => ({
  ...{ name, kind: 'repetition', options },
  steps: [reads, { request: balance, ...failure }, is],
});
const isNotCoinop: StepOf<'result'> = { result: 'coins.balance', is: lost('not_coinop') };
const html = (status: number, more: Record<string, string> = {}): Answer => [
  status,
  '<html>Sign in to the network</html>',
  { 'content-type': 'text/html', ...more },
];

/** A call of which a repetition would do something twice: it is repeated only if certainly nothing was done. */
function once(call: string, request: string, input: object, body: object): Case[] {
  const told = { call, input: input as never } satisfies Step;
  const of = (name: string, ...steps: Step[]): Case => ({ name: `${call} ${name}`, kind: 'repetition', options, steps: [told, ...steps] });
  const isRepeated = (failure: Answer): Step[] => [
    { request, answer: failure },
    { request, body: body as never, after: again(0, 1000), answer: ok({ done: true }) },
    { result: call, is: { ok: true, done: true } },
  ];
  return [
    of('is not sent again after its answer was lost', { request, cut: 'before' }, { result: call, is: lost('network') }),
    of('is not sent again after 5 s without an answer', { request }, { result: call, after: [5000, 5000], is: lost('timeout') }),
    of('is not sent again after a 500', { request, answer: refused(500, 'internal') }, { result: call, is: failed(500, 'internal') }),
    of(
      'is not sent again if its outcome is unknown',
      { request, answer: refused(503, 'store_unavailable', { outcome: 'unknown' }) },
      { result: call, is: failed(503, 'store_unavailable', { outcome: 'unknown' }) },
    ),
    of('is sent again after a 429, which has done nothing', ...isRepeated(refused(429, 'rate_limited', { retryAfterMs: 1000 }))),
    of('is sent again after a 503 whose outcome is known', ...isRepeated(refused(503, 'overloaded', { retryAfterMs: 1000 }))),
  ];
}

export const repetitions: Case[] = [
  {
    name: 'a read is one request, which names the caller by one header and no cookie',
    kind: 'repetition',
    options,
    steps: [reads, { request: balance, headers: { ...ME, cookie: null }, answer: ok({ balanceCoins: 12 }) }, has(12)],
  },
  repeats(
    'a 503 is repeated after the time for which it asks',
    { answer: refused(503, 'store_unavailable', { retryAfterMs: 2000 }) },
    2000,
  ),
  repeats('a 503 that asks for no time is repeated soon', { answer: refused(503, 'store_unavailable') }),
  repeats('overloaded is repeated', { answer: refused(503, 'overloaded', { retryAfterMs: 700 }) }, 700),
  repeats('app_store_unavailable is repeated', { answer: refused(503, 'app_store_unavailable') }),
  repeats('a 500 is repeated', { answer: refused(500, 'internal') }),
  repeats('rate_limited is repeated after retryAfterMs', { answer: refused(429, 'rate_limited', { retryAfterMs: 1500 }) }, 1500),
  repeats(
    'Retry-After in whole seconds counts where retryAfterMs is missing',
    { answer: [...refused(429, 'rate_limited').slice(0, 2), { 'retry-after': '3' }] as never },
    3000,
  ),
  repeats(
    'retryAfterMs counts before Retry-After',
    { answer: [...refused(429, 'rate_limited', { retryAfterMs: 400 }).slice(0, 2), { 'retry-after': '1' }] as never },
    400,
  ),
  repeats(
    'a service cannot stop a client by a Retry-After of a day: it waits a minute',
    { answer: refused(503, 'overloaded', { retryAfterMs: 86_400_000 }) },
    60_000,
  ),
  repeats('a page of a proxy that says 502 is repeated as network trouble', { answer: html(502) }),
  repeats('the Retry-After of a proxy counts', { answer: html(503, { 'retry-after': '2' }) }, 2000),
  repeats('a broken connection is repeated', { cut: 'before' }),
  repeats('an answer that breaks in its headers is repeated', { cut: 'headers' }),
  repeats('an answer that breaks in its body is repeated', { cut: 'body' }),
  repeats('bytes that are no answer are repeated', { raw: 'SSH-2.0-OpenSSH_9.2\r\n' }),
  ends('a captive portal ends the call: not_coinop', { answer: html(200) }, isNotCoinop),
  ends(
    'a redirect is not followed: another server would get the installId',
    { answer: html(302, { location: '/v1/elsewhere' }) },
    isNotCoinop,
  ),
  ends('JSON of another server ends the call: not_coinop', { answer: [200, { status: 'up' }] }, isNotCoinop),
  ends('a 404 of another server ends the call: not_coinop', { answer: html(404) }, isNotCoinop),
  ends('an error of another server ends the call: not_coinop', { answer: [400, { error: 'bad request' }] }, isNotCoinop),
  ends('broken JSON with status 200 ends the call: not_coinop', { answer: [200, '{"ok":true,"balanceCoins":'] }, isNotCoinop),
  ends('JSON null is no answer of coinop', { answer: [200, 'null'] }, isNotCoinop),
  ends('an ok beside a status of failure is no answer of coinop', { answer: [404, { ok: true, balanceCoins: 1 }] }, isNotCoinop),
  {
    name: 'each further wait may be twice as long, up to 5 s',
    kind: 'repetition',
    options: { installId: INSTALL, timeoutMs: 600_000 },
    steps: [
      reads,
      { request: balance, answer: refused(503, 'overloaded') },
      ...[0, 1, 2, 3, 4, 5, 6, 7].map((tries): Step => ({ request: balance, after: again(tries), answer: refused(503, 'overloaded') })),
      { request: balance, after: again(8), answer: ok({ balanceCoins: 3 }) },
      has(3),
    ],
  },
  {
    name: 'a request without an answer is given up after 5 s, and sent again',
    kind: 'repetition',
    options,
    steps: [reads, { request: balance }, { request: balance, after: [5000, 5300], answer: ok({ balanceCoins: 1 }) }, has(1)],
  },
  {
    name: 'an answer that comes after its request was given up changes nothing',
    kind: 'repetition',
    options,
    steps: [
      reads,
      { request: balance, as: 'first' },
      { request: balance, after: [5000, 5300], as: 'second' },
      { answer: 'first', with: ok({ balanceCoins: 1 }) },
      { answer: 'second', with: ok({ balanceCoins: 2 }) },
      has(2),
    ],
  },
  {
    name: 'a call gives its last failure when its time is up',
    kind: 'repetition',
    options: { installId: INSTALL, timeoutMs: 2000 },
    steps: [
      reads,
      { request: balance, answer: refused(503, 'store_unavailable', { retryAfterMs: 5000 }) },
      { result: 'coins.balance', after: [2000, 2000], is: failed(503, 'store_unavailable', { retryAfterMs: 5000 }) },
    ],
  },
  {
    name: 'a call without any answer ends with timeout',
    kind: 'repetition',
    options,
    steps: [
      { call: 'coins.balance', timeoutMs: 3000 },
      { request: balance },
      { result: 'coins.balance', after: [3000, 3000], is: lost('timeout') },
    ],
  },
  {
    name: 'a call takes 15 s at most, unless it is told otherwise',
    kind: 'repetition',
    options,
    steps: [
      reads,
      { request: balance, answer: refused(503, 'overloaded', { retryAfterMs: 60_000 }) },
      { result: 'coins.balance', after: [15_000, 15_000], is: failed(503, 'overloaded', { retryAfterMs: 60_000 }) },
    ],
  },
  {
    name: 'an aborted call ends at once',
    kind: 'repetition',
    options,
    steps: [reads, { request: balance }, { abort: 'coins.balance' }, { result: 'coins.balance', is: lost('aborted') }, { pass: 60_000 }],
  },
  {
    name: 'a closed client ends its calls and sends no more',
    kind: 'repetition',
    options,
    steps: [
      reads,
      { request: balance, answer: refused(503, 'overloaded', { retryAfterMs: 1000 }) },
      { tell: 'close' },
      { result: 'coins.balance', is: lost('aborted') },
      { pass: 60_000 },
    ],
  },
  {
    name: 'a long-poll may take as long as its wait',
    kind: 'repetition',
    options,
    steps: [
      { call: 'rooms.read', input: { code: 'BCDFG', since: 4, wait: 20 } },
      { request: 'GET /v1/rooms/BCDFG?since=4&wait=20', as: 'poll' },
      { pass: 24_000 },
      { answer: 'poll', with: ok({ room: { code: 'BCDFG', seq: 4 } }) },
      { result: 'rooms.read', is: { ok: true, room: { code: 'BCDFG', seq: 4 } } },
    ],
  },
  {
    name: 'two calls at once do not wait for each other, and their answers may come in any order',
    kind: 'repetition',
    options,
    steps: [
      reads,
      { call: 'entitlement.current' },
      { request: balance, as: 'first' },
      { request: 'GET /v1/entitlement', answer: ok({ state: 'none', access: false }) },
      { result: 'entitlement.current', is: { ok: true, state: 'none', access: false } },
      { answer: 'first', with: ok({ balanceCoins: 7 }) },
      has(7),
    ],
  },
  ...once('rooms.create', 'POST /v1/rooms', { name: 'Ada' }, { name: 'Ada' }),
  ...once('rooms.message', 'POST /v1/rooms/BCDFG/message', { code: 'BCDFG', data: 'hi' }, { data: 'hi' }),
  ...once('store.install', 'POST /v1/account/store-install', { nonce: 'n', integrityToken: 't' }, { nonce: 'n', integrityToken: 't' }),
];
