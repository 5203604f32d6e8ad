import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { benchOutput } from './bench-output.ts';

const { out, bench, resultsOf, close } = benchOutput();
afterAll(close);

test('--cluster compares the service on a Cluster with the service on one Redis', async () => {
  const names = ['credit-session-512', 'fan-out-rooms-64', 'growth-board-1000', 'growth-ledger-100'];
  const { code, stdout } = await bench([...names, '--cluster', '--quick']);
  expect(stdout).not.toMatch(/! failed|! audit/);
  expect(code).toBe(0);

  const { scenarios } = resultsOf('cluster.json');
  expect(scenarios.map(({ name }) => name)).toEqual(names);
  for (const { sides, ratios } of scenarios) {
    expect(sides.map(({ id, figures }) => [id, figures.redisCpu!.median > 0])).toEqual([
      ['cluster', true],
      ['one', true],
    ]);
    expect(ratios.map(({ figure }) => figure)).toEqual(expect.arrayContaining(['serverCpu', 'redisCpu']));
  }
  const [credit] = scenarios;
  for (const { figures } of credit!.sides) expect(figures.requestsPerBatch!.median).toBeGreaterThan(1);
  expect(credit!.targets).toMatchObject([{ what: 'server CPU against one Redis', most: 1, isRatio: true }]);
  expect(readFileSync(join(out, 'cluster.md'), 'utf8')).toMatch(/^# Bench results on a Redis Cluster\n/);
}, 180_000);
