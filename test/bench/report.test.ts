import { describe, expect, test } from 'vitest';
import { betterPeers } from '../../bench/report/better-peers.ts';
import { runMarkdown } from '../../bench/report/markdown.ts';
import { numberText } from '../../bench/report/numbers.ts';
import { pictures } from '../../bench/report/pictures.ts';
import { runTable } from '../../bench/report/table.ts';
import type { Figure, RunResult, ScenarioResult, SideResult, TargetResult } from '../../bench/result.ts';

const figure = (median: number, lower = median, upper = median): Figure => ({ median, lower, upper, rounds: [median, lower, upper] });

const side = (id: string, kind: SideResult['kind'], figures: SideResult['figures'], at?: number): SideResult => ({
  ...{ id, name: `<${id}> & "co"`, kind, figures },
  ...(at === undefined ? {} : { at }),
});

const target = (what: string, name: TargetResult['figure'], most: number, more: Partial<TargetResult> = {}): TargetResult => ({
  ...{ what, figure: name, isRatio: false, most, regimes: [] },
  ...more,
});

const regimes = [
  { figure: 'serverCpu', value: 1.234, low: 1.2, high: 1.26, verdict: 'reached' },
  { figure: 'serverCpuWrk', value: 1.284, low: 1.251, high: 1.32, verdict: 'not decided' },
] as const;

const compared: ScenarioResult = {
  ...{ name: 'credit-session', title: 'Credit by session', summary: 'What it does.', operation: 'request', findings: [], partial: false },
  sides: [
    side('coinop', 'service', {
      ...{ serverCpu: figure(12.34, 11, 14), redisCpu: figure(5), perSecond: figure(12_345) },
      ...{ p50: figure(0.4), p99: figure(2), p999: figure(31), atRate: figure(6000) },
    }),
    side('uws', 'floor', { serverCpu: figure(10), perSecond: figure(20_000) }),
    side('incrby', 'floor', { redisCpu: figure(1.5), perSecond: figure(98_765) }),
  ],
  targets: [
    target('server CPU against bare uWS', 'serverCpuWrk', 1.3, { ...regimes[1], isRatio: true, regimes }),
    target('memory', 'entryBytes', 130, { value: 140, verdict: 'missed' }),
    target('messages', 'watcherMessages', 60, { value: 58.6, low: 58, high: 59, verdict: 'reached' }),
    target('against a missing side', 'serverCpu', 2, { isRatio: true }),
  ],
  ratios: [
    { ...regimes[0], side: 'coinop', against: 'uws' },
    { ...regimes[1], side: 'coinop', against: 'uws' },
    // A ratio without an interval, as after too few rounds.
    { figure: 'serverCpu', side: 'coinop', against: 'incrby', value: 0.5 },
  ],
};

/** The sides of a curve are sizes or rates of one service. */
const curve = (name: string, ats: number[], figures: SideResult['figures']): ScenarioResult => ({
  ...compared,
  ...{ name, family: name, title: name, ratios: [], targets: [] },
  sides: ats.map((at) => side(String(at), 'service', figures, at)),
});
const grown = curve('growth', [1000, 1_000_000], { serverCpu: figure(20, 19, 22), redisCpu: figure(10) });
const answers = { goodput: figure(9000), refused: figure(0, 0, 5), p50: figure(3), p99: figure(20) };
const overloaded = curve('overload', [0.5, 1, 4], { serverCpu: figure(20), ...answers });

const run: RunResult = {
  startedAt: '2026-11-21T12:00:00.000Z',
  seconds: 60,
  machine: { cpu: 'A CPU', cores: 2, memoryGb: 8, system: 'Debian', node: 'v22', redis: '7.0.15' },
  settings: { quick: false, connections: 64, seconds: 0.3, minutes: 10 },
  partial: false,
  scenarios: [compared, grown],
};
const ofScenario = (more: Partial<ScenarioResult>, ofRun: Partial<RunResult> = {}): RunResult => ({
  ...run,
  scenarios: [{ ...compared, ...more }],
  ...ofRun,
});
const quick = { ...run.settings, quick: true };

test('the table has medians with quartiles, the ratios for each kind of load, and the verdict on each target under its worst one', () => {
  expect(runTable(ofScenario({}))).toBe(`\
Credit by session (credit-session)
                   server CPU, µs/request  Redis CPU, µs/request  rate, /s  p50, ms  p99, ms  p99.9, ms  arrival rate, /s
  <coinop> & "co"        12.3 (11.0–14.0)                    5.0    12,345     0.40     2.00      31.00             6,000
  <uws> & "co"                       10.0                           20,000
  <incrby> & "co"                                            1.5    98,765
  <coinop> & "co"'s CPU         saturated               wrk
  to <uws> & "co"        1.23 (1.20–1.26)  1.28 (1.25–1.32)
  to <incrby> & "co"                 0.50
  ~ server CPU against bare uWS: 1.28 (1.25–1.32) wrk (at most 1.3) not decided; saturated 1.23 (1.20–1.26), wrk 1.28 (1.25–1.32)
  ✗ memory: 140.0 B (at most 130 B) missed
  ✓ messages: 58.6 /s (58.0–59.0) (at most 60 /s) reached
  ? against a missing side: not measured (at most 2)

1 of 3 targets reached, 1 missed, 1 not decided.`);
});

test('the table of a quick run has no verdicts, and that of a broken run says what has failed', () => {
  const targets = compared.targets.map(({ verdict: _, ...one }) => one);
  expect(runTable(ofScenario({ targets }, { settings: quick }))).not.toMatch(/reached|missed|decided/);
  const [coinop] = compared.sides;
  const sides = [{ ...coinop!, answers: { 'status 200': 12_345, 'connection lost': 3, 'status 429': 7 } }];
  const text = runTable(ofScenario({ sides, findings: ['coinop: a balance of 3'], error: 'it broke', partial: true }, { partial: true }));
  for (const said of [
    'Credit by session (credit-session): partial\n',
    '\n  status 200: 12,345, status 429: 7; errors: connection lost: 3\n',
    '\n  ! audit: coinop: a balance of 3\n  ! failed: it broke\n',
    '\nThe run was stopped early: these results are partial.\n',
  ])
    expect(text).toContain(said);
});

test('the Markdown has the machine, the targets and a table for each scenario', () => {
  const markdown = runMarkdown(ofScenario({}));
  for (const line of [
    '2026-11-21, A CPU, 2 cores, 8 GB, Debian, Node v22, Redis 7.0.15; 64 connections, rounds of 0.3 s.',
    '| Credit by session: memory | 140.0 B | 130 B | **missed** |',
    '## Credit by session',
    '| <coinop> & "co" | 12.3 (11.0–14.0) | 5.0 | 12,345 | 0.40 | 2.00 | 31.00 | 6,000 |',
    '| to <uws> & "co" | 1.23 (1.20–1.26) | 1.28 (1.25–1.32) |',
  ])
    expect(markdown.split('\n')).toContain(line);
});

describe('peers that are better', () => {
  const coinop = side('coinop', 'service', { serverCpu: figure(10, 9, 11), p50: figure(2, 1, 3), perSecond: figure(100) });
  const better = (...peers: SideResult[]): string | undefined => betterPeers({ ...compared, sides: [coinop, ...peers] }, numberText);

  test('are named with both medians in each cost, and floors are left out', () => {
    const colyseus = side('colyseus', 'peer', { serverCpu: figure(7, 6, 8), p50: figure(1.75, 1.5, 2) });
    const said = better(
      side('uws', 'floor', { serverCpu: figure(2, 1, 3) }),
      side('ws', 'peer', { serverCpu: figure(8, 7, 8.5), p50: figure(5, 4, 6) }),
      colyseus,
    );
    const inCpu = 'Better than <coinop> & "co": <colyseus> & "co" in server CPU (7.0 against 10.0 µs)';
    expect(said).toBe(`${inCpu}; <colyseus> & "co" in p50 (1.75 against 2.00 ms, quartiles overlap).`);
    const sides = [coinop, side('colyseus', 'peer', { serverCpu: figure(7) })];
    expect(runTable(ofScenario({ sides }))).toContain(`\n  ${inCpu}.\n`);
    expect(runMarkdown(ofScenario({ sides }))).toContain(`\n\n**${inCpu}.**\n`);
    expect(runTable(ofScenario({ sides }, { settings: quick }))).not.toContain('Better than');
  });

  test('are not named where no peer costs less, as in a growth curve', () => {
    expect(better(side('ws', 'peer', { serverCpu: figure(10), p50: figure(5), perSecond: figure(900) }))).toBeUndefined();
    expect(betterPeers(grown, numberText)).toBeUndefined();
  });
});

describe('the pictures', () => {
  const drawn = pictures(run);
  const stamped = { ...pictures({ ...run, settings: quick }), ...pictures({ ...run, settings: quick, scenarios: [overloaded] }) };

  test('exist only for figures that were measured, and show their names and values', () => {
    expect(Object.keys(drawn)).toEqual(['cpu.svg', 'throughput.svg', 'latency.svg', 'growth.svg']);
    expect(Object.keys(stamped)).toEqual([...Object.keys(drawn), 'overload.svg']);
    const text = Object.values(stamped).join('');
    for (const shown of [
      ...['&lt;coinop&gt; &amp; &quot;co&quot;', '12.3 + 5.0 µs', '0.40 / 2.00 / 31 ms', '1M', 'Whiskers: quartiles'],
      ...['>Answers a second<', '>goodput 9,000<', '>refused 0<', '>p50 3<', '>p99 20<'],
    ])
      expect(text).toContain(shown);
  });

  test.each(Object.entries(stamped))('%s of a quick run is stamped, well-formed and without invalid numbers', (_, svg) => {
    expectWellFormed(svg);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    // The stamp is in the head of the picture and across it.
    expect(svg.match(/>quick run: no measurement</g)!.length).toBeGreaterThanOrEqual(2);
  });

  test('of a whole run have no stamp, and those of a partial run have another stamp', () => {
    expect(Object.values(drawn).join('')).not.toContain('quick run');
    expect(pictures({ ...run, partial: true })['cpu.svg']).toContain('>partial results<');
  });

  test('leave out groups of one bar, and compare a Redis without a server in a group of its own', () => {
    const lone = { ...compared, title: 'Burst', sides: compared.sides.slice(0, 1) };
    const { 'cpu.svg': cpu, 'throughput.svg': throughput } = pictures({ ...run, scenarios: [lone, compared] });
    expect(`${cpu}${throughput}`).not.toContain('Burst');
    expect(cpu).toMatch(/Credit by session: Redis alone[^]*>1\.5 µs</);
    expect(throughput).not.toContain('98,765/s');
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
  expect([rest, open]).toEqual(['', []]);
}
