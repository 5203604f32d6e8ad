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
});
