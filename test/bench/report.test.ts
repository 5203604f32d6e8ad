import { describe, expect, test } from 'vitest';
import { figures } from '../../bench/figures.ts';
import { runMarkdown } from '../../bench/report/markdown.ts';
import { pictures } from '../../bench/report/pictures.ts';
import { runTable } from '../../bench/report/table.ts';
import type { Figure, RunResult, ScenarioResult, SideResult } from '../../bench/result.ts';

const figure = (median: number, ...rounds: number[]): Figure => ({
  median,
  lower: Math.min(median, ...rounds),
  upper: Math.max(median, ...rounds),
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
    side('uws', 'floor', { serverCpu: figure(10), perSecond: figure(20_000) }),
    side('incrby', 'floor', { redisCpu: figure(1.5), perSecond: figure(98_765) }),
  ],
  targets: [
    {
      what: 'server CPU against bare uWS',
      figure: 'serverCpuWrk',
      isRatio: true,
      most: 1.3,
      value: 1.284,
      low: 1.251,
      high: 1.32,
      verdict: 'not decided',
      regimes: [
        { figure: 'serverCpu', value: 1.234, low: 1.2, high: 1.26, verdict: 'reached' },
        { figure: 'serverCpuWrk', value: 1.284, low: 1.251, high: 1.32, verdict: 'not decided' },
      ],
    },
    { what: 'memory', figure: 'entryBytes', isRatio: false, most: 130, value: 140, verdict: 'missed', regimes: [] },
    {
      what: 'messages',
      figure: 'watcherMessages',
      isRatio: false,
      most: 60,
      value: 58.6,
      low: 58,
      high: 59,
      verdict: 'reached',
      regimes: [],
    },
    { what: 'against a missing side', figure: 'serverCpu', isRatio: true, most: 2, regimes: [] },
  ],
  ratios: [
    { figure: 'serverCpu', side: 'coinop', against: 'uws', value: 1.234, low: 1.2, high: 1.26 },
    { figure: 'serverCpuWrk', side: 'coinop', against: 'uws', value: 1.284, low: 1.251, high: 1.32 },
    // A ratio without an interval, as after too few rounds.
    { figure: 'serverCpu', side: 'coinop', against: 'incrby', value: 0.5 },
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
  ratios: [],
  targets: [],
};

const overloaded: ScenarioResult = {
  ...compared,
  name: 'overload',
  title: 'Overload',
  sides: [0.5, 1, 4].map((at) =>
    side(
      String(at),
      'service',
      { serverCpu: figure(20), goodput: figure(9000), refused: figure(0, 5), p50: figure(3), p99: figure(20) },
      at,
    ),
  ),
  ratios: [],
  targets: [],
};

const run: RunResult = {
  startedAt: '2026-11-21T12:00:00.000Z',
  seconds: 60,
  machine: { cpu: 'A CPU', cores: 2, memoryGb: 8, system: 'Debian', node: 'v22', redis: '7.0.15' },
  settings: { quick: false, connections: 64, seconds: 0.3, minutes: 10 },
  partial: false,
  scenarios: [compared, grown],
};

describe('the table', () => {
  const lines = runTable(run).split('\n');

  test('shows medians with quartiles, and only figures that a side has', () => {
    expect(lines[0]).toBe('Credit by session (credit-session)');
    expect(lines[1]).toMatch(
      /server CPU, µs\/request +Redis CPU, µs\/request +rate, \/s +p50, ms +p99, ms +p99\.9, ms +arrival rate, \/s$/,
    );
    expect(lines[2]).toMatch(/<coinop> & "co" +12\.3 \(11\.0–14\.0\) +5\.0 +12,345 +0\.40 +2\.00 +31\.00 +6,000$/);
    expect(runTable(run)).not.toContain(figures.watcherBytes.label);
  });

  test('shows every ratio with its interval, for each kind of load', () => {
    const [head, ...rows] = lines.slice(lines.findIndex((line) => line.includes("'s CPU  ")));
    expect(head).toMatch(/^ {2}<coinop> & "co"'s CPU +saturated +wrk$/);
    expect(rows[0]).toMatch(/^ {2}to <uws> & "co" +1\.23 \(1\.20–1\.26\) +1\.28 \(1\.25–1\.32\)$/);
    expect(rows[1]).toMatch(/^ {2}to <incrby> & "co" +0\.50$/);
  });

  test('shows the verdict on each target under its worst kind of load', () => {
    expect(lines).toContain(
      '  ~ server CPU against bare uWS: 1.28 (1.25–1.32) wrk (at most 1.3) not decided; saturated 1.23 (1.20–1.26), wrk 1.28 (1.25–1.32)',
    );
    expect(lines).toContain('  ✗ memory: 140.0 B (at most 130 B) missed');
    expect(lines).toContain('  ✓ messages: 58.6 /s (58.0–59.0) (at most 60 /s) reached');
    expect(lines).toContain('  ? against a missing side: not measured (at most 2)');
    expect(lines.at(-1)).toBe('1 of 3 targets reached, 1 missed, 1 not decided.');
  });

  test('has no verdicts after a quick run', () => {
    const targets = compared.targets.map(({ verdict: _, ...target }) => target);
    const quick = runTable({ ...run, settings: { ...run.settings, quick: true }, scenarios: [{ ...compared, targets }] });
    expect(quick).toContain('– memory: 140.0 B (at most 130 B) –');
    expect(quick).not.toMatch(/reached|missed|decided/);
  });

  test('shows the counts of each status and error of a service at --url', () => {
    const [coinop] = compared.sides;
    const answers = { 'status 200': 12_345, 'connection lost': 3, 'status 429': 7 };
    const text = runTable({ ...run, scenarios: [{ ...compared, sides: [{ ...coinop!, answers }] }] });
    expect(text).toContain('  status 200: 12,345, status 429: 7; errors: connection lost: 3');
  });

  test('shows audit findings, failed scenarios and partial results', () => {
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
  expect(markdown).toContain('2026-11-21, A CPU, 2 cores, 8 GB, Debian, Node v22, Redis 7.0.15; 64 connections, rounds of 0.3 s.');
  expect(markdown).toContain('| Credit by session: memory | 140.0 B | 130 B | **missed** |');
  expect(markdown).toContain('| Credit by session: server CPU against bare uWS | 1.28 (1.25–1.32) wrk | 1.3 | **not decided** |');
  expect(markdown).toContain('| to <uws> & "co" | 1.23 (1.20–1.26) | 1.28 (1.25–1.32) |');
  expect(markdown).toContain('| <coinop> & "co" | 12.3 (11.0–14.0) | 5.0 | 12,345 | 0.40 | 2.00 | 31.00 | 6,000 |');
  expect(markdown).toContain('## Accounts');
});

describe('the pictures', () => {
  const drawn = pictures(run);

  test('exist only for figures that were measured', () => {
    expect(Object.keys(drawn)).toEqual(['cpu.svg', 'throughput.svg', 'latency.svg', 'growth.svg']);
    expect(Object.keys(pictures({ ...run, scenarios: [grown] }))).toEqual(['growth.svg']);
    expect(Object.keys(pictures({ ...run, scenarios: [] }))).toEqual([]);
  });

  test('of an overload show answers and latencies, and no growth', () => {
    const { 'overload.svg': svg, ...others } = pictures({ ...run, scenarios: [overloaded] });
    expect(Object.keys(others)).toEqual([]);
    expectWellFormed(svg!);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    for (const label of ['Answers a second', 'goodput 9,000', 'refused 0', 'p50 3', 'p99 20']) expect(svg).toContain(`>${label}<`);
  });

  test.each(Object.entries(drawn))('%s is well-formed and has no invalid numbers', (_, svg) => {
    expectWellFormed(svg);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    expect(svg).toContain('@media (prefers-color-scheme:dark)');
  });

  test('show names and figures', () => {
    expect(drawn['cpu.svg']).toContain('&lt;coinop&gt; &amp; &quot;co&quot;');
    expect(drawn['cpu.svg']).toContain('12.3 + 5.0 µs');
    expect(drawn['latency.svg']).toContain('0.40 / 2.00 / 31 ms');
    expect(drawn['growth.svg']).toContain('1M');
    for (const name of ['cpu.svg', 'throughput.svg', 'growth.svg']) expect(drawn[name]).toContain('Whiskers: quartiles');
  });

  test('of a quick run are all stamped', () => {
    const quick = pictures({ ...run, settings: { ...run.settings, quick: true } });
    expect(Object.keys(quick)).toEqual(Object.keys(drawn));
    for (const svg of Object.values(quick)) {
      expectWellFormed(svg);
      // The stamp is in the head of the picture and across it.
      expect(svg.match(/>quick run: no measurement</g)!.length).toBeGreaterThanOrEqual(2);
    }
    expect(Object.values(drawn).join('')).not.toContain('quick run');
    expect(pictures({ ...run, partial: true })['cpu.svg']).toContain('>partial results<');
  });

  test('leave out groups of one bar, and compare a Redis without a server in a group of its own', () => {
    const lone = { ...compared, title: 'Burst', sides: compared.sides.slice(0, 1) };
    const { 'cpu.svg': cpu, 'throughput.svg': throughput } = pictures({ ...run, scenarios: [lone, compared] });
    expect(cpu).not.toContain('Burst');
    expect(throughput).not.toContain('Burst');
    expect(cpu).toContain('Credit by session: Redis alone');
    expect(cpu).toContain('>1.5 µs<');
    expect(throughput).not.toContain('98,765/s');
    expect(Object.keys(pictures({ ...run, scenarios: [lone] }))).toEqual(['latency.svg']);
  });

  test('the check for well-formed XML rejects malformed XML', () => {
    expect(() => expectWellFormed('<svg><g></svg>')).toThrow();
    expect(() => expectWellFormed('<svg a="b"c></svg>')).toThrow();
    expect(() => expectWellFormed('<svg>a & b</svg>')).toThrow();
  });
});

/** Elements close in order, attributes are quoted, and text contains no markup (XML 1.0, sections 2.4 and 3.1). */
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
