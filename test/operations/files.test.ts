import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { start, type TestService } from '../harness.ts';

/** What needs no Prometheus. `npm run prove:operations` tries the queries themselves. */

const file = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const alerts = file('docs/operations/alerts.yml');
const dashboard = JSON.parse(file('docs/operations/dashboard.json')) as { panels: Panel[] };
const alertNames = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

/** The names of metrics in a text, without the suffixes of histograms. */
const metricsIn = (text: string): string[] =>
  [...new Set([...text.matchAll(/\b(?:coinop|process)_[a-z_]+\b/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, '')))].toSorted();

let service: TestService;
let served: string[];
beforeAll(async () => {
  service = await start();
  await service.get('/v1/balance');
  const text = (await service.get('/metrics')).body as string;
  const ofAudits = metricsIn(file('src/server/metrics.ts')).filter((name) => name.startsWith('coinop_audit_'));
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

  test('says of each panel what it shows', () => {
    const bare = dashboard.panels.filter(({ type, description, targets }) => type !== 'row' && (!description || !targets?.length));
    expect(bare.map(({ title }) => title)).toEqual([]);
  });
});
