import { describe, expect, test } from 'vitest';
import { keptFor, oneAtATime } from '../../src/server/one-at-a-time.ts';

describe('oneAtATime', () => {
  test('all callers during a call get its result, and the next caller starts another', async () => {
    let calls = 0;
    const call = oneAtATime(async () => ++calls);
    expect(await Promise.all([call(), call(), call()])).toEqual([1, 1, 1]);
    expect(await call()).toBe(2);
  });

  test('all callers during a failing call get its error, and the next caller starts another', async () => {
    let calls = 0;
    const call = oneAtATime(async () => {
      if (++calls === 1) throw new Error('away');
      return calls;
    });
    const results = await Promise.allSettled([call(), call()]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await call()).toBe(2);
  });
});

describe('keptFor', () => {
  const counted = () => {
    const clock = { now: 1000, calls: 0 };
    const call = keptFor(
      500,
      () => clock.now,
      async () => ++clock.calls,
    );
    return { clock, call };
  };

  test('a result is given again until its time is over', async () => {
    const { clock, call } = counted();
    expect(await call()).toBe(1);
    clock.now += 499;
    expect(await call()).toBe(1);
    clock.now += 1;
    expect(await call()).toBe(2);
  });

  test('a call that failed is not kept', async () => {
    let calls = 0;
    const call = keptFor(
      500,
      () => 0,
      async () => {
        if (++calls === 1) throw new Error('away');
        return calls;
      },
    );
    await expect(call()).rejects.toThrow('away');
    expect(await call()).toBe(2);
  });
});
