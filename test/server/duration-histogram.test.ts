import { Registry } from '@prometheus-io/client';
import { expect, test } from 'vitest';
import { DurationHistogram } from '../../src/server/duration-histogram.ts';

const durationsIn = (registry: Registry): DurationHistogram =>
  new DurationHistogram({ name: 'took_seconds', help: 'How long it took.', registry });

test('durations are written out as a Prometheus histogram in seconds, with cumulative buckets', async () => {
  const registry = new Registry();
  const observe = durationsIn(registry).series({ route: '/a' });
  for (const milliseconds of [0.5, 0.6, 40, 60_000]) observe(milliseconds);
  expect((await registry.metrics()).trim().split('\n')).toEqual([
    '# HELP took_seconds How long it took.',
    '# TYPE took_seconds histogram',
    'took_seconds_bucket{le="0.0005",route="/a"} 1',
    'took_seconds_bucket{le="0.001",route="/a"} 2',
    'took_seconds_bucket{le="0.0025",route="/a"} 2',
    'took_seconds_bucket{le="0.005",route="/a"} 2',
    'took_seconds_bucket{le="0.01",route="/a"} 2',
    'took_seconds_bucket{le="0.025",route="/a"} 2',
    'took_seconds_bucket{le="0.05",route="/a"} 3',
    'took_seconds_bucket{le="0.1",route="/a"} 3',
    'took_seconds_bucket{le="0.25",route="/a"} 3',
    'took_seconds_bucket{le="0.5",route="/a"} 3',
    'took_seconds_bucket{le="1",route="/a"} 3',
    'took_seconds_bucket{le="2.5",route="/a"} 3',
    'took_seconds_bucket{le="30",route="/a"} 3',
    'took_seconds_bucket{le="+Inf",route="/a"} 4',
    'took_seconds_sum{route="/a"} 60.0411',
    'took_seconds_count{route="/a"} 4',
  ]);
});

test('a series without durations is left out, and a reset empties the others', async () => {
  const registry = new Registry();
  const durations = durationsIn(registry);
  durations.series({ route: '/unused' });
  const observe = durations.series({ route: '/used' });
  observe(1);
  expect(await registry.metrics()).toContain('route="/used"');
  expect(await registry.metrics()).not.toContain('/unused');
  registry.resetMetrics();
  expect(await registry.metrics()).not.toContain('/used');
});
