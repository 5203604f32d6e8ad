import { describe, expect, test } from 'vitest';
import { EndpointHealth } from '../../../src/features/webhooks/endpoint-health.ts';

const NOW = 1_800_000_000_000;

function downAt(now: number): EndpointHealth {
  const health = new EndpointHealth();
  for (let failure = 1; failure <= 64; failure++) health.failed(`account${failure % 5}`, now, now);
  return health;
}

describe('an endpoint that is down', () => {
  test('is probed after half a second to a second, and then after twice as long each time, up to 5 s', () => {
    const health = downAt(NOW);
    expect(health.isDown).toBe(true);
    let now = NOW;
    for (const mostMs of [1000, 2000, 4000, 5000, 5000]) {
      expect(health.probeAt - now).toBeGreaterThanOrEqual(mostMs / 2);
      expect(health.probeAt - now).toBeLessThanOrEqual(mostMs);
      now = health.probeAt;
      health.failed('account0', now, now);
    }
  });

  test('is not probed later because of attempts that were under way when it went down', () => {
    const health = downAt(NOW);
    const { probeAt } = health;
    for (let attempt = 0; attempt < 31; attempt++) health.failed(`account${attempt % 5}`, NOW, NOW + 15_000);
    expect(health.probeAt).toBe(probeAt);
  });

  test.each([0, 1, 2, 3])(
    'for a minute is found to answer although it still fails for five seconds of ten, from second %i on',
    (second) => {
      const health = downAt(NOW + second * 1000);
      const answers = (at: number): boolean => at > NOW + 60_000 && at % 10_000 >= 5000;
      let probes = 1;
      // Each probe after the first minute has a chance of a half.
      for (; probes < 60 && !answers(health.probeAt); probes++) health.failed('account0', health.probeAt, health.probeAt);
      expect(probes).toBeLessThan(60);
      expect(health.succeeded()).toBe(true);
      expect(health.isDown).toBe(false);
    },
  );
});
