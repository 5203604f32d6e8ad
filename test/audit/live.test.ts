import { expect, test } from 'vitest';
import { start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { audited } from './audited.ts';
import { mixedLoad } from './load.ts';

/** How long the load runs. A longer run: AUDIT_SECONDS=60. */
const SECONDS = Number(process.env['AUDIT_SECONDS'] ?? 4);

test(
  'an audit beside coin operations, retention, moves and scores of two services reports no drift',
  { timeout: 60_000 + 2000 * SECONDS },
  async () => {
    await using redis = await startRedis();
    const settings = { LEDGER_RETENTION_DAYS: '1' };
    await using one = await start({ redis: redis.location, settings });
    await using other = await start({ redis: redis.location, settings });
    const load = mixedLoad([one, other]);
    const until = Date.now() + 1000 * SECONDS;
    let audits = 0;
    while (Date.now() < until || audits < 3) {
      const { findings } = await audited(redis.location, audits++ % 2 === 0 ? 1 : 0.5);
      expect(findings).toEqual([]);
    }
    await load.stop();
    const { findings, counts } = await audited(redis.location);
    expect(findings).toEqual([]);
    // The load did what it is for: retention deleted entries, and guests moved.
    expect(counts.checked['entries']).toBeLessThan(load.done['coins']!);
    expect(load.done['moves']).toBeGreaterThan(5);
    expect(load.done['scores']).toBeGreaterThan(20);
  },
);
