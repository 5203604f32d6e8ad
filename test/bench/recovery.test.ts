import { expect, test } from 'vitest';
import type { Arrivals } from '../../bench/load/arrivals-order.ts';
import { recoverySeconds } from '../../bench/measure/recovery.ts';

interface Answer {
  readonly kind?: string;
  readonly latency?: number;
}

/** Requests that are due every 10 ms from 5000 on, ten in each window of 100 ms. */
function arrivals(windows: readonly Answer[]): Arrivals {
  const answers = windows.flatMap((answer) => Array.from({ length: 10 }, () => answer));
  const kinds = ['served', 'overloaded'];
  return {
    numbers: Uint32Array.from(answers, (_, index) => index),
    kindOf: Uint32Array.from(answers, ({ kind = 'served' }) => kinds.indexOf(kind)),
    due: Float64Array.from(answers, (_, index) => 5000 + 10 * index),
    latencies: Float64Array.from(answers, ({ latency = 5 }) => latency),
    lags: new Float64Array(),
    kinds,
    next: answers.length,
  };
}

const options = { normalP99: 10, afterSeconds: 0.6 };
const recovery = (...windows: Answer[]): number => recoverySeconds(arrivals(windows), 5000, options);
const normal = {};
const slow = { latency: 31 };
const refused = { kind: 'overloaded' };

test('a service that is normal at once has recovered at once', () => {
  expect(recovery(normal, normal, normal, normal, normal, normal)).toBe(0);
});

test('recovery ends with the first two windows in a row without refusals and with short latencies', () => {
  expect(recovery(refused, slow, normal, normal, slow, normal)).toBe(0.2);
  expect(recovery(refused, normal, refused, normal, normal, normal)).toBe(0.3);
});

test('latencies up to three times the usual 99th percentile are normal', () => {
  expect(recovery({ latency: 30 }, { latency: 30 }, normal, normal, normal, normal)).toBe(0);
});

test('a service that does not recover counts with the whole time', () => {
  expect(recovery(slow, slow, slow, slow, slow, slow)).toBe(0.6);
});
