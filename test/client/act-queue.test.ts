import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { actQueue, MOST_ACTS, type Act } from '../../src/client/act-queue.ts';
import type { ActResult } from '../../src/client/room-types.ts';

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A queue whose messages the test reads and answers. */
function queueOf(kept: Act[] = []) {
  const lines: string[] = [];
  const refused: string[] = [];
  let stuck = 0;
  const queue = actQueue(
    () => 0,
    kept,
    () => {},
    () => stuck++,
    ({ code }) => refused.push(code),
  );
  const line = { send: ({ order, action, fields }: Act) => void lines.push(`${order} ${action} ${JSON.stringify(fields)}`) };
  const results: (ActResult | undefined)[] = [];
  return {
    queue,
    refused,
    results,
    open: (of = 'room p1') => queue.open(line, of),
    /** The messages since the last call. */
    sent: () => lines.splice(0),
    add: async (action: string, fields: object = {}) => {
      const place = results.push(undefined) - 1;
      void queue.add(action, fields as Record<string, unknown>).then((result) => (results[place] = result));
      await vi.advanceTimersByTimeAsync(0);
    },
    done: (order: number, seq = 1) => queue.answered({ order, seq }),
    refuse: (order: number, code: string, more: object = {}) => queue.answered({ order, error: { code, message: '', ...more } as never }),
    stuck: () => stuck,
    /** Advances the clock past every wait after a refusal. */
    wait: () => vi.advanceTimersByTimeAsync(6000),
    isOk: () => results.map((result) => result?.ok),
  };
}

const later = 'rate_limited';
const unclear = ['store_unavailable', { outcome: 'unknown' }] as const;

describe('acts that are sent one at a time', () => {
  test('are sent one after the other, and are repeated with the same `order`', async () => {
    const { add, open, sent, done, refuse, wait } = queueOf();
    await add('ready');
    await add('state', { merge: { a: 1 } });
    open();
    expect(sent()).toEqual(['1 ready {}']);
    refuse(1, ...unclear);
    await wait();
    expect(sent()).toEqual(['1 ready {}']);
    done(1);
    expect(sent()).toEqual(['2 state {"merge":{"a":1}}']);
    refuse(2, later, { retryAfterMs: 3000 });
    await vi.advanceTimersByTimeAsync(2900);
    expect(sent()).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(sent()).toEqual(['2 state {"merge":{"a":1}}']);
  });

  test('use up no `order` if they are definitely refused, and the next acts continue', async () => {
    const { add, open, sent, refuse, refused, isOk } = queueOf();
    open();
    await add('start');
    await add('ready');
    refuse(1, 'not_host');
    expect([sent(), refused]).toEqual([['1 start {}', '2 ready {}'], ['not_host']]);
    await vi.advanceTimersByTimeAsync(0);
    expect(isOk()).toEqual([false, undefined]);
  });

  test('that wait are combined: merges are merged, a new state replaces, and a conditional act stays separate', async () => {
    const { add, open, sent, done, isOk } = queueOf();
    open();
    await add('ready');
    await add('state', { merge: { a: 1 } });
    await add('state', { merge: { b: { c: null } } });
    await add('state', { state: {}, ifStateSeq: 3 });
    await add('state', { state: { x: 1 } });
    await add('state', { merge: { y: 1 } });
    for (let order = 1; order < 5; order++) done(order);
    await vi.advanceTimersByTimeAsync(0);
    expect(sent()).toEqual([
      '1 ready {}',
      '2 state {"merge":{"a":1,"b":{"c":null}}}',
      '3 state {"state":{},"ifStateSeq":3}',
      '4 state {"state":{"x":1,"y":1}}',
    ]);
    expect(isOk()).toEqual([true, true, true, true, true, true]);
  });
});

describe('own data', () => {
  test('is sent after unanswered data, and includes its changes', async () => {
    const { add, open, sent, refuse, done, wait, isOk } = queueOf();
    open();
    await add('data', { merge: { x: 1 } });
    await add('data', { merge: { y: 2 } });
    await add('data', { merge: { x: null } });
    expect(sent()).toEqual(['1 data {"merge":{"x":1}}', '2 data {"merge":{"x":1,"y":2}}', '3 data {"merge":{"x":null,"y":2}}']);
    // The second message is lost, and the third includes its changes.
    refuse(2, later);
    done(1);
    done(3);
    await wait();
    expect([sent(), isOk()]).toEqual([[], [true, true, true]]);
  });

  test('that was refused is not sent again after later data was accepted', async () => {
    const { add, open, sent, refuse, done, wait, isOk } = queueOf();
    open();
    await add('data', { data: 1 });
    await add('data', { data: 2 });
    sent();
    done(2);
    refuse(1, ...unclear);
    await wait();
    expect([sent(), isOk()]).toEqual([[], [true, true]]);
  });

  test('that was refused gets a new `order` after a later message was accepted', async () => {
    const { add, open, sent, refuse, done, wait } = queueOf();
    open();
    await add('data', { data: 1 });
    await add('message', { data: 'hi' });
    sent();
    refuse(1, ...unclear);
    done(2);
    await wait();
    expect(sent()).toEqual(['3 data {"data":1}']);
  });

  test('that no patch can express waits for the answer', async () => {
    const { add, open, sent, done } = queueOf();
    open();
    await add('data', { merge: { x: null } });
    await add('data', { merge: { x: { y: 1 } } });
    expect(sent()).toEqual(['1 data {"merge":{"x":null}}']);
    done(1);
    expect(sent()).toEqual(['2 data {"merge":{"x":{"y":1}}}']);
  });

  test('has its value at the call, also if the game changes the object later', async () => {
    const { add, open, sent } = queueOf();
    const position = { x: 1 };
    await add('data', { data: position });
    position.x = 2;
    open();
    expect(sent()).toEqual(['1 data {"data":{"x":1}}']);
  });
});

describe('messages', () => {
  test('are sent without waiting, up to sixteen, and a lobby action waits for them', async () => {
    const { add, open, sent, done } = queueOf();
    open();
    for (let n = 0; n < 20; n++) await add('message', { data: n });
    await add('start');
    expect(sent()).toHaveLength(16);
    for (let order = 1; order <= 19; order++) done(order);
    expect(sent()).toHaveLength(4);
    done(20);
    expect(sent()).toEqual(['21 start {}']);
  });

  test('that were refused are sent again in their order after a later accepted message, before new messages', async () => {
    const { add, open, sent, done, refuse, wait } = queueOf();
    open();
    for (const data of 'abcd') await add('message', { data });
    sent();
    refuse(1, later);
    refuse(2, later);
    await add('message', { data: 'new' });
    done(3);
    expect(sent()).toEqual([]);
    refuse(4, later);
    await wait();
    expect(sent()).toEqual(['5 message {"data":"a"}', '6 message {"data":"b"}', '7 message {"data":"d"}', '8 message {"data":"new"}']);
  });

  test('with an unknown outcome are not sent again after a later message', async () => {
    const { add, open, sent, done, refuse, wait, results } = queueOf();
    open();
    await add('message', { data: 'a' });
    await add('message', { data: 'b' });
    sent();
    refuse(1, ...unclear);
    done(2);
    await wait();
    expect([sent(), results[0]]).toEqual([[], { ok: false, error: expect.objectContaining({ code: 'store_unavailable' }) }]);
  });

  test('that were refused before a lost connection stay behind messages with an unknown outcome', async () => {
    const { queue, add, open, sent, done, refuse, wait } = queueOf();
    open();
    for (const data of 'abcd') await add('message', { data });
    sent();
    done(2);
    refuse(1, later);
    queue.lost();
    await wait();
    open();
    expect(sent()).toEqual(['3 message {"data":"c"}', '4 message {"data":"d"}', '5 message {"data":"a"}']);
  });
});

describe('a connection', () => {
  test('that was lost is replaced by one that repeats unanswered acts, and a late answer counts once', async () => {
    const { queue, add, open, sent, done, isOk } = queueOf();
    open();
    await add('message', { data: 'a' });
    await add('message', { data: 'b' });
    queue.lost();
    await add('message', { data: 'c' });
    done(1);
    sent();
    open();
    expect(sent()).toEqual(['1 message {"data":"a"}', '2 message {"data":"b"}', '3 message {"data":"c"}']);
    for (const order of [1, 2, 3, 3, 1]) done(order);
    await vi.advanceTimersByTimeAsync(0);
    expect(isOk()).toEqual([true, true, true]);
    expect(queue.unanswered()).toEqual([]);
  });

  test('without an answer for eight seconds is abandoned, even if the system clock jumps', async () => {
    const { add, open, done, stuck } = queueOf();
    open();
    await add('ready');
    vi.setSystemTime(Date.now() + 86_400_000);
    await vi.advanceTimersByTimeAsync(7900);
    expect(stuck()).toBe(0);
    done(1);
    await add('ready');
    vi.setSystemTime(0);
    await vi.advanceTimersByTimeAsync(7900);
    expect(stuck()).toBe(0);
    await vi.advanceTimersByTimeAsync(200);
    expect(stuck()).toBe(1);
  });

  test('for another seat gets no acts of the seat before', async () => {
    const { queue, add, open, sent, isOk } = queueOf();
    open('room p1');
    await add('ready');
    queue.lost();
    await add('ready');
    sent();
    open('room p2');
    await vi.advanceTimersByTimeAsync(0);
    expect([sent(), isOk()]).toEqual([[], [false, false]]);
    await add('ready');
    expect(sent()).toEqual(['2 ready {}']);
  });
});

test('leaving a seat succeeds, also if the room without the player arrives before the answer', async () => {
  const { queue, add, open, sent, isOk } = queueOf();
  open();
  await add('leave');
  await add('ready');
  sent();
  queue.refuse({ code: 'not_in_room', message: '' });
  await vi.advanceTimersByTimeAsync(0);
  expect(isOk()).toEqual([true, false]);
});

test('the queue refuses an act when it is full', async () => {
  const { add, results, queue } = queueOf();
  for (let n = 0; n <= MOST_ACTS; n++) await add('ready');
  expect([queue.unanswered().length, results.at(-1), results.at(-2)]).toEqual([
    MOST_ACTS,
    { ok: false, error: { code: 'queue_full', message: 'queue_full' } },
    undefined,
  ]);
});

test('the local effect of an act stays until the room includes it, and ends when the service has lost the act', async () => {
  const { queue, add, open, done } = queueOf();
  const echo = () => queue.echo().map(({ order }) => order);
  queue.seen(5);
  open();
  await add('state', { state: 1 });
  await add('state', { state: 2 });
  done(1, 6);
  expect(echo()).toEqual([1, 2]);
  queue.seen(6);
  expect(echo()).toEqual([2]);
  done(2, 9);
  queue.seen(8);
  expect(echo()).toEqual([2]);
  queue.seen(4);
  expect(echo()).toEqual([]);
});
