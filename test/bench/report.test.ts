import { describe, expect, test } from 'vitest';
import { figures } from '../../bench/figures.ts';
import { runMarkdown } from '../../bench/report/markdown.ts';
import { pictures } from '../../bench/report/pictures.ts';
import { runTable } from '../../bench/report/table.ts';
import type { Figure, RunResult, ScenarioResult, SideResult } from '../../bench/result.ts';

const figure = (median: number, ...rounds: number[]): Figure => ({
  median,
  lowest: Math.min(median, ...rounds),
  highest: Math.max(median, ...rounds),
  rounds: [median, ...rounds],
});

const side = (id: string, kind: SideResult['kind'], found: SideResult['figures'], at?: number): SideResult => ({
  id,
  name: `<${id}> & "co"`,
  kind,
  figures: found,
  ...(at === undefined ? {} : { at }),
});

const compared: ScenarioResult = {
  name: 'credit-session',
  title: 'Credit by session',
  summary: 'What it does.',
  operation: 'request',
  sides: [
    side('coinop', 'service', {
      serverCpu: figure(12.34, 11, 14),
      redisCpu: figure(5),
      perSecond: figure(12_345),
      p50: figure(0.4),
      p99: figure(2),
      p999: figure(31),
      atRate: figure(6000),
    }),
    side('uws', 'floor', { serverCpu: figure(10) }),
    side('incrby', 'floor', { redisCpu: figure(1) }),
  ],
  targets: [
    { what: 'server CPU against bare uWS', figure: 'serverCpu', isRatio: true, most: 1.3, value: 1.234, reached: true },
    { what: 'memory', figure: 'entryBytes', isRatio: false, most: 130, value: 140, reached: false },
    { what: 'against nobody', figure: 'serverCpu', isRatio: true, most: 2 },
  ],
  findings: [],
  partial: false,
};

const grown: ScenarioResult = {
  ...compared,
  name: 'growth-accounts',
  family: 'growth',
  title: 'Accounts',
  sides: [1000, 1_000_000].map((at) => side(String(at), 'service', { serverCpu: figure(20, 19, 22), redisCpu: figure(10) }, at)),
  targets: [],
};

const run: RunResult = {
  startedAt: '2026-11-21T12:00:00.000Z',
  seconds: 60,
  machine: { cpu: 'A CPU', cores: 2, memoryGb: 8, system: 'Debian', node: 'v22', redis: '7.0.15' },
  settings: { quick: false, connections: 64, seconds: 1.5, rounds: 5 },
  partial: false,
  scenarios: [compared, grown],
};

describe('the table', () => {
  const lines = runTable(run).split('\n');

  test('has medians with how far the rounds lay apart, and only columns that somebody has', () => {
    expect(lines[0]).toBe('Credit by session (credit-session)');
    expect(lines[1]).toMatch(/server CPU, µs\/request +Redis CPU, µs\/request +rate, \/s +p50, ms +p99, ms +p99\.9, ms +latency at, \/s$/);
    expect(lines[2]).toMatch(/<coinop> & "co" +12\.3 \(11\.0–14\.0\) +5\.0 +12,345 +0\.40 +2\.00 +31\.00 +6,000$/);
    expect(runTable(run)).not.toContain(figures.watcherBytes.label);
  });

  test('says of each target whether it was reached', () => {
    expect(lines).toContain('  ✓ server CPU against bare uWS: 1.23 (at most 1.3) reached');
    expect(lines).toContain('  ✗ memory: 140.0 B (at most 130 B) missed');
    expect(lines).toContain('  ? against nobody: not measured (at most 2)');
    expect(lines.at(-1)).toBe('1 of 2 targets reached.');
  });

  test('says what went wrong, and what was stopped', () => {
    const broken = { ...compared, findings: ['coinop: a balance of 3'], error: 'it broke', partial: true };
    const text = runTable({ ...run, partial: true, scenarios: [broken] });
    expect(text).toContain('Credit by session (credit-session): partial');
    expect(text).toContain('! audit: coinop: a balance of 3');
    expect(text).toContain('! failed: it broke');
    expect(text).toContain('these results are partial');
  });
});

test('the Markdown has the machine, the targets and a table for each scenario', () => {
  const markdown = runMarkdown(run);
  expect(markdown).toContain(
    '2026-11-21, A CPU, 2 cores, 8 GB, Debian, Node v22, Redis 7.0.15; 64 connections, medians of 5 rounds of 1.5 s.',
  );
  expect(markdown).toContain('| Credit by session: memory | 140.0 B | 130 B | **missed** |');
  expect(markdown).toContain('| <coinop> & "co" | 12.3 (11.0–14.0) | 5.0 | 12,345 | 0.40 | 2.00 | 31.00 | 6,000 |');
  expect(markdown).toContain('## Accounts');
});

describe('the pictures', () => {
  const drawn = pictures(run);

  test('are there for what was measured', () => {
    expect(Object.keys(drawn)).toEqual(['cpu.svg', 'throughput.svg', 'latency.svg', 'growth.svg']);
    expect(Object.keys(pictures({ ...run, scenarios: [grown] }))).toEqual(['growth.svg']);
    expect(Object.keys(pictures({ ...run, scenarios: [] }))).toEqual([]);
  });

  test.each(Object.entries(drawn))('%s is well-formed, and every number in it is one', (_, svg) => {
    expectWellFormed(svg);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    expect(svg).toContain('@media (prefers-color-scheme:dark)');
  });

  test('name what they show, with its figures', () => {
    expect(drawn['cpu.svg']).toContain('&lt;coinop&gt; &amp; &quot;co&quot;');
    expect(drawn['cpu.svg']).toContain('12.3 + 5.0 µs');
    expect(drawn['latency.svg']).toContain('0.40 / 2.00 / 31 ms');
    expect(drawn['growth.svg']).toContain('1M');
    expect(pictures({ ...run, settings: { ...run.settings, quick: true } })['cpu.svg']).toContain('not to be read as figures');
  });

  test('a broken one would be noticed', () => {
    expect(() => expectWellFormed('<svg><g></svg>')).toThrow();
    expect(() => expectWellFormed('<svg a="b"c></svg>')).toThrow();
    expect(() => expectWellFormed('<svg>a & b</svg>')).toThrow();
  });
});

/** Elements close in order, attributes are quoted, and text has nothing that is markup (XML 1.0, sections 2.4 and 3.1). */
function expectWellFormed(xml: string): void {
  const open: string[] = [];
  const rest = xml
    .trim()
    .replace(/<(\/?)([a-z]+)((?: [\w:-]+="[^"<]*")*)(\/?)>|[^<>]+/g, (piece, closing, name, attributes, selfClosing) => {
      expect((name === undefined ? piece : attributes).replace(/&(amp|lt|gt|quot);/g, '')).not.toContain('&');
      if (name === undefined) expect(open.length).toBeGreaterThan(0);
      else if (closing === '/') expect(open.pop()).toBe(name);
      else if (selfClosing !== '/') open.push(name);
      return '';
    });
  expect(rest).toBe('');
  expect(open).toEqual([]);
}
