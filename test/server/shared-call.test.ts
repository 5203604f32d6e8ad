import { expect, test } from 'vitest';
import { keptFor, oneAtATime } from '../../src/server/shared-call.ts';

/** A call that counts, and fails the first time. */
const failingFirst = () => {
  let calls = 0;
  return async () => {
    if (++calls === 1) throw new Error('away');
    return calls;
  };
};

test('all callers during a call get its result or its error, and the next caller starts another', async () => {
  const call = oneAtATime(failingFirst());
  const results = await Promise.allSettled([call(), call()]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect([await Promise.all([call(), call()]), await call()]).toEqual([[2, 2], 3]);
});

test('a result is given again until its time is over, and a call that failed is not kept', async () => {
  let now = 1000;
  const call = keptFor(500, () => now, failingFirst());
  await expect(call()).rejects.toThrow('away');
  expect(await call()).toBe(2);
  now += 499;
  expect(await call()).toBe(2);
  now += 1;
  expect(await call()).toBe(3);
});
