import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { save } from '../../bench/report/save.ts';
import type { RunResult } from '../../bench/result.ts';

let folders: { published: string; other: string };
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-results-'));
  folders = { published: join(folder, 'published'), other: join(folder, 'other') };
});
afterEach(() => rmSync(join(folders.other, '..'), { recursive: true, force: true }));

const run: RunResult = {
  startedAt: '2026-01-01T00:00:00.000Z',
  seconds: 1,
  machine: { cpu: 'a CPU', cores: 2, memoryGb: 4, system: 'Linux', node: 'v22', redis: '7.0' },
  settings: { quick: false, connections: 64, seconds: 1, minutes: 10 },
  partial: false,
  scenarios: [],
};
const ofCluster: RunResult = { ...run, settings: { ...run.settings, cluster: true } };

test('--publish writes the page to the published folder, and the JSON elsewhere', () => {
  save(run, { publish: true, out: undefined, folders });
  save(ofCluster, { publish: true, out: undefined, folders });
  expect(readdirSync(folders.published).toSorted()).toEqual(['cluster.md', 'results.md']);
  expect(readdirSync(folders.other).toSorted()).toEqual(['cluster.json', 'latest.json']);
});

test('a run that was stopped early keeps its results, and publishes none of them', () => {
  const said = save({ ...run, partial: true }, { publish: true, out: undefined, folders });
  expect(said).toMatch(/^Not published: the run was stopped early\.\nWritten to /);
  expect(existsSync(folders.published)).toBe(false);
  expect(readdirSync(folders.other).toSorted()).toEqual(['latest.json', 'results.md']);
});

test('the published folder of the tree holds pages and pictures only', () => {
  const files = readdirSync(new URL('../../bench/results', import.meta.url)).filter((name) => name !== 'other');
  expect(files).toContain('results.md');
  expect(files.filter((name) => !/\.(md|svg)$/.test(name))).toEqual([]);
});
