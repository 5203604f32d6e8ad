import { expect, test } from 'vitest';
import { betterPeers } from '../../bench/report/better-peers.ts';
import { runMarkdown } from '../../bench/report/markdown.ts';
import { runTable } from '../../bench/report/table.ts';
import { numberText } from '../../bench/report/numbers.ts';
import type { RunResult, ScenarioResult, SideResult } from '../../bench/result.ts';

const side = (
  name: string,
  kind: SideResult['kind'],
  costs: Record<string, [lowest: number, median: number, highest: number]>,
): SideResult => ({
  id: name,
  name,
  kind,
  figures: Object.fromEntries(
    Object.entries(costs).map(([figure, [lower, median, upper]]) => [figure, { median, lower, upper, rounds: [lower, median, upper] }]),
  ),
});

const scenario = (...sides: SideResult[]): ScenarioResult => ({
  name: 'fan-out-room',
  title: 'Fan-out',
  summary: 'What it does.',
  operation: 'delivery',
  sides,
  ratios: [],
  targets: [],
  findings: [],
  partial: false,
});

const coinop = side('coinop', 'service', { serverCpu: [9, 10, 11], p50: [1, 2, 3], perSecond: [100, 100, 100] });

test('the peer with the lowest cost is named with both medians, and floors are left out', () => {
  const said = betterPeers(
    scenario(
      coinop,
      side('bare uWS', 'floor', { serverCpu: [1, 2, 3] }),
      side('ws', 'peer', { serverCpu: [7, 8, 8.5], p50: [4, 5, 6] }),
      side('Colyseus', 'peer', { serverCpu: [6, 7, 8], p50: [1.5, 1.75, 2] }),
    ),
    numberText,
  );
  expect(said).toBe(
    'Better than coinop: Colyseus in server CPU (7.0 against 10.0 µs); Colyseus in p50 (1.75 against 2.00 ms, quartiles overlap).',
  );
});

test('there is no sentence when no peer costs less than the service', () => {
  const peer = side('ws', 'peer', { serverCpu: [9, 10, 11], p50: [4, 5, 6], perSecond: [900, 900, 900] });
  expect(betterPeers(scenario(coinop, peer), numberText)).toBeUndefined();
});

test('there is no sentence for a growth curve or a scenario without figures', () => {
  expect(betterPeers(scenario(coinop, { ...coinop, id: '1000', at: 1000 }), numberText)).toBeUndefined();
  expect(betterPeers(scenario(), numberText)).toBeUndefined();
});

test('the table and the Markdown show the sentence below the complete table', () => {
  const run = {
    startedAt: '2026-11-21T12:00:00.000Z',
    seconds: 60,
    machine: { cpu: 'A CPU', cores: 2, memoryGb: 8, system: 'Debian', node: 'v22', redis: '7.0.15' },
    settings: { quick: false, connections: 64, seconds: 1, rounds: 3, minutes: 10 },
    partial: false,
    scenarios: [scenario(coinop, side('Colyseus', 'peer', { serverCpu: [6, 7, 8] }))],
  } satisfies RunResult;
  const said = 'Better than coinop: Colyseus in server CPU (7.0 against 10.0 µs).';
  expect(runTable(run)).toContain(`\n  ${said}`);
  expect(runTable(run)).toMatch(/\n {2}Colyseus +7\.0 \(6\.0–8\.0\)/);
  expect(runMarkdown(run)).toContain(`\n\n**${said}**`);
  expect(runMarkdown(run)).toContain('| Colyseus | 7.0 (6.0–8.0) |');
});
