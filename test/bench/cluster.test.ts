import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { RunResult } from '../../bench/result.ts';
import { benchOutput } from './bench-output.ts';

const { out, bench, close } = benchOutput();
afterAll(close);

const read = (file: string): string => readFileSync(join(out, file), 'utf8');

test('--cluster compares the service on a Cluster with the service on one Redis, beside the results of an ordinary run', async () => {
  expect((await bench(['health', '--quick'])).code).toBe(0);
  const { code, stdout } = await bench([
    'credit-session-512',
    'fan-out-rooms-64',
    'growth-ledger-100',
    'growth-board-1000',
    '--cluster',
    '--quick',
  ]);
  expect(stdout).not.toMatch(/! failed|! audit/);
  expect(code).toBe(0);

  const { scenarios, settings } = JSON.parse(read('cluster.json')) as RunResult;
  expect(settings.cluster).toBe(true);
  expect(scenarios.map(({ name }) => name)).toEqual(['credit-session-512', 'fan-out-rooms-64', 'growth-board-1000', 'growth-ledger-100']);
  for (const { sides, ratios } of scenarios) {
    expect(sides.map(({ id }) => id)).toEqual(['cluster', 'one']);
    expect(sides.every(({ figures: { redisCpu } }) => redisCpu!.median > 0)).toBe(true);
    expect(ratios.map(({ figure }) => figure)).toEqual(expect.arrayContaining(['serverCpu', 'redisCpu']));
  }
  const [credit] = scenarios;
  for (const { figures } of credit!.sides) {
    expect(figures.batchesPerPrimary!.median).toBeGreaterThan(0);
    expect(figures.requestsPerBatch!.median).toBeGreaterThan(1);
    expect(figures.serverCpuHalfLoad).toBeUndefined();
  }
  expect(credit!.targets).toMatchObject([{ what: 'server CPU against one Redis', most: 1, isRatio: true }]);

  expect(read('results.md')).toMatch(/^# Bench results\n[^]*## Health\n/);
  expect(read('cluster.md')).toMatch(/^# Bench results on a Redis Cluster\n[^]*## Cluster: credit by session, 512 in flight\n/);
}, 180_000);
