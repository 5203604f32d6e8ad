import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { save } from '../../bench/report/save.ts';
import type { RunResult } from '../../bench/result.ts';

const run: RunResult = {
  startedAt: '2026-01-01T00:00:00.000Z',
  seconds: 1,
  machine: { cpu: 'a CPU', cores: 2, memoryGb: 4, system: 'Linux', node: 'v22', redis: '7.0' },
  settings: { quick: false, connections: 64, seconds: 1, minutes: 10 },
  partial: false,
  scenarios: [],
};

test('--publish writes the page to the published folder, and the JSON elsewhere, but publishes nothing of a run that was stopped', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-results-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const options = { publish: true, out: undefined, folders: { published: join(folder, 'published'), other: join(folder, 'other') } };
  const filesOf = (path: string): string[] => readdirSync(join(folder, path)).toSorted();

  expect(save({ ...run, partial: true }, options)).toMatch(/^Not published: the run was stopped early\.\nWritten to /);
  expect(existsSync(join(folder, 'published'))).toBe(false);
  expect(filesOf('other')).toEqual(['latest.json', 'results.md']);

  save(run, options);
  save({ ...run, settings: { ...run.settings, cluster: true } }, options);
  expect(filesOf('published')).toEqual(['cluster.md', 'results.md']);
  expect(filesOf('other')).toEqual(['cluster.json', 'latest.json', 'results.md']);
});
