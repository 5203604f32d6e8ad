import { Registry } from '@prometheus-io/client';
import { expect, test } from 'vitest';
import { DurationHistogram } from '../../src/server/duration-histogram.ts';

test('durations are written out as a Prometheus histogram in seconds, with cumulative buckets, and series without durations are left out', async () => {
  const registry = new Registry();
  const durations = new DurationHistogram({ name: 'took_seconds', help: 'How long it took.', registry });
  durations.series({ route: '/unused' });
  const observe = durations.series({ route: '/a' });
  for (const milliseconds of [0.5, 0.6, 40, 60_000]) observe(milliseconds);
  const lines = (await registry.metrics()).trim().split('\n');
  expect(lines.slice(0, 2)).toEqual(['# HELP took_seconds How long it took.', '# TYPE took_seconds histogram']);
  const buckets = lines.slice(2, -2).map((line) => /^took_seconds_bucket\{le="([^"]+)",route="\/a"\} (\d)$/.exec(line)!.slice(1).join(' '));
  expect(buckets.join(', ')).toBe(
    '0.0005 1, 0.001 2, 0.0025 2, 0.005 2, 0.01 2, 0.025 2, 0.05 3, 0.1 3, 0.25 3, 0.5 3, 1 3, 2.5 3, 30 3, +Inf 4',
  );
  expect(lines.slice(-2)).toEqual(['took_seconds_sum{route="/a"} 60.0411', 'took_seconds_count{route="/a"} 4']);
  registry.resetMetrics();
  expect(await registry.metrics()).not.toContain('/a');
});
