import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { actQueue, type Act } from '../../../src/clients/javascript/act-queue.ts';
import type { ActResult } from '../../../src/clients/javascript/room-types.ts';

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A queue whose messages the test reads and answers. Its line is open. */
function queueOf() {
  const lines: string[] = [];
  let stuck = 0;
  const queue = actQueue(
    () => 0,
    [],
    () => {},
    () => stuck++,
    () => {},
  );
  const line = { send: ({ order, action, fields }: Act) => void lines.push(`${order} ${action} ${JSON.stringify(fields)}`) };
  const open = () => queue.open(line, 'room p1');
  open();
  const results: (ActResult | undefined)[] = [];
  return {
    queue,
    results,
    open,
    /** The messages since the last call. */
    sent: () => lines.splice(0),
    add: async (action: string, ...each: object[]) => {
      for (const fields of each.length === 0 ? [{}] : each) {
        const place = results.push(undefined) - 1;
        void queue.add(action, fields as Record<string, unknown>).then((result) => (results[place] = result));
        await vi.advanceTimersByTimeAsync(0);
      }
    },
    done: (...orders: number[]) => orders.forEach((order) => queue.answered({ order, seq: 1 })),
    refuse: (order: number, code: string, more: object = {}) => queue.answered({ order, error: { code, message: '', ...more } as never }),
    stuck: () => stuck,
    /** Advances the clock past every wait after a refusal. */
    wait: () => vi.advanceTimersByTimeAsync(6000),
    isOk: async () => (await vi.advanceTimersByTimeAsync(0), results.map((result) => result?.ok)),
  };
}

const later = 'rate_limited';
const unclear = ['store_unavailable', { outcome: 'unknown' }] as const;

describe('acts that are sent one at a time', () => {
  test('are sent one after the other, and are repeated with the same `order`', async () => {
    const { add, sent, done, refuse, wait } = queueOf();
    await add('ready');
    await add('state', { merge: { a: 1 } });
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

  test('that wait are combined: merges are merged, a new state replaces, and a conditional act stays separate', async () => {
    const { add, sent, done, isOk } = queueOf();
    await add('ready');
    await add('state', { merge: { a: 1 } }, { merge: { b: { c: null } } }, { state: {}, ifStateSeq: 3 });
    await add('state', { state: { x: 1 } }, { merge: { y: 1 } });
    done(1, 2, 3, 4);
    expect(sent()).toEqual([
      '1 ready {}',
      '2 state {"merge":{"a":1,"b":{"c":null}}}',
      '3 state {"state":{},"ifStateSeq":3}',
      '4 state {"state":{"x":1,"y":1}}',
    ]);
    expect(await isOk()).toEqual([true, true, true, true, true, true]);
  });

  test('end the connection if there is no answer for 4.5 seconds, even if the system clock jumps', async () => {
    const { add, done, stuck } = queueOf();
    await add('ready');
    vi.setSystemTime(Date.now() + 86_400_000);
    await vi.advanceTimersByTimeAsync(4400);
    done(1);
    await add('ready');
    vi.setSystemTime(0);
    await vi.advanceTimersByTimeAsync(4400);
    expect(stuck()).toBe(0);
    await vi.advanceTimersByTimeAsync(200);
    expect(stuck()).toBe(1);
  });
});

describe('own data', () => {
  test('is sent after unanswered data, and includes its changes, so that a lost part needs no repetition', async () => {
    const { add, sent, refuse, done, wait, isOk } = queueOf();
    await add('data', { merge: { x: 1 } }, { merge: { y: 2 } }, { merge: { x: null } });
    expect(sent()).toEqual(['1 data {"merge":{"x":1}}', '2 data {"merge":{"x":1,"y":2}}', '3 data {"merge":{"x":null,"y":2}}']);
    refuse(2, later);
    done(1, 3);
    await wait();
    expect([sent(), await isOk()]).toEqual([[], [true, true, true]]);
  });

  test('that was refused is not sent again after later data was accepted', async () => {
    const { add, sent, refuse, done, wait, isOk } = queueOf();
    await add('data', { data: 1 }, { data: 2 });
    sent();
    done(2);
    refuse(1, ...unclear);
    await wait();
    expect([sent(), await isOk()]).toEqual([[], [true, true]]);
  });

  test('that was refused gets a new `order` after a later message was accepted', async () => {
    const { add, sent, refuse, done, wait } = queueOf();
    await add('data', { data: 1 });
    await add('message', { data: 'hi' });
    sent();
    refuse(1, ...unclear);
    done(2);
    await wait();
    expect(sent()).toEqual(['3 data {"data":1}']);
  });

  test('that no patch can express waits for the answer, with its value at the call', async () => {
    const { add, sent, done } = queueOf();
    const position = { y: 1 };
    await add('data', { merge: { x: null } }, { merge: { x: position } });
    position.y = 2;
    expect(sent()).toEqual(['1 data {"merge":{"x":null}}']);
    done(1);
    expect(sent()).toEqual(['2 data {"merge":{"x":{"y":1}}}']);
  });
});

describe('messages', () => {
  test('are sent without waiting, up to sixteen, and a lobby action waits for them', async () => {
    const { add, sent, done } = queueOf();
    await add('message', ...Array.from({ length: 20 }, (_, data) => ({ data })));
    await add('start');
    expect(sent()).toHaveLength(16);
    for (let order = 1; order <= 19; order++) done(order);
    expect(sent()).toHaveLength(4);
    done(20);
    expect(sent()).toEqual(['21 start {}']);
  });

  test('that were refused are sent again in their order after a later accepted message, before new messages', async () => {
    const { add, sent, done, refuse, wait } = queueOf();
    await add('message', { data: 'a' }, { data: 'b' }, { data: 'c' }, { data: 'd' });
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
    const { add, sent, done, refuse, wait, results } = queueOf();
    await add('message', { data: 'a' }, { data: 'b' });
    sent();
    refuse(1, ...unclear);
    done(2);
    await wait();
    expect([sent(), results[0]]).toEqual([[], { ok: false, error: expect.objectContaining({ code: 'store_unavailable' }) }]);
  });

  test('that were refused before a lost connection stay behind messages with an unknown outcome', async () => {
    const { queue, add, open, sent, done, refuse, wait } = queueOf();
    await add('message', { data: 'a' }, { data: 'b' }, { data: 'c' }, { data: 'd' });
    sent();
    done(2);
    refuse(1, later);
    queue.lost();
    await wait();
    open();
    expect(sent()).toEqual(['3 message {"data":"c"}', '4 message {"data":"d"}', '5 message {"data":"a"}']);
  });
});

test('leaving a seat succeeds, also if the room without the player arrives before the answer', async () => {
  const { queue, add, isOk } = queueOf();
  await add('leave');
  await add('ready');
  queue.refuse({ code: 'not_in_room', message: '' });
  expect(await isOk()).toEqual([true, false]);
});

test('the local effect of an act stays until the room includes it, and ends when the service has lost the act', async () => {
  const { queue, add } = queueOf();
  const echo = () => queue.echo().map(({ order }) => order);
  queue.seen(5);
  await add('state', { state: 1 }, { state: 2 });
  queue.answered({ order: 1, seq: 6 });
  expect(echo()).toEqual([1, 2]);
  queue.seen(6);
  queue.answered({ order: 2, seq: 9 });
  queue.seen(8);
  expect(echo()).toEqual([2]);
  queue.seen(4);
  expect(echo()).toEqual([]);
});
