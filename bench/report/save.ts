import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunResult } from '../result.ts';
import { clusterMarkdown, runMarkdown } from './markdown.ts';
import { pictures } from './pictures.ts';

/** The README shows this folder, and git tracks it. Only a full run with --publish and without errors writes to it. */
const PUBLISHED = fileURLToPath(new URL('../results', import.meta.url));

/** Git ignores this folder. */
const OTHER = join(PUBLISHED, 'other');

/** @returns a message that names the folder and the files */
export function save(run: RunResult, { publish, out }: { publish: boolean; out: string | undefined }): string {
  const refusal = publish ? whyNotPublished(run) : undefined;
  const folder = out ?? (publish && refusal === undefined ? PUBLISHED : OTHER);
  const files = { [fileOf(run)]: `${JSON.stringify(run, undefined, 2)}\n`, ...pages(run, folder) };
  return [...(refusal === undefined ? [] : [`Not published: ${refusal}.`]), write(folder, files)].join('\n');
}

function fileOf({ settings }: RunResult): string {
  return settings.cluster === true ? CLUSTER_FILE : LATEST_FILE;
}

const LATEST_FILE = 'latest.json';
const CLUSTER_FILE = 'cluster.json';

/** results.md has the results of the last run and of the last one with --cluster: the one that is not `run` comes from its file. */
function pages(run: RunResult, folder: string): Record<string, string> {
  const isOfCluster = run.settings.cluster === true;
  const other = readRun(join(folder, isOfCluster ? LATEST_FILE : CLUSTER_FILE));
  const [latest, cluster] = isOfCluster ? [other, run] : [run, other];
  const parts = [latest && runMarkdown(latest), cluster && clusterMarkdown(cluster)];
  return { 'results.md': parts.filter((part) => part !== undefined).join('\n'), ...(isOfCluster ? {} : pictures(run)) };
}

function readRun(file: string): RunResult | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as RunResult) : undefined;
}

export function saveComparison(files: Record<string, string>, { out }: { out: string | undefined }): string {
  return write(out ?? OTHER, files);
}

function write(folder: string, files: Record<string, string>): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return `Written to ${relative(process.cwd(), folder) || '.'}/: ${Object.keys(files).join(', ')}`;
}

function whyNotPublished({ partial, scenarios, drift }: RunResult): string | undefined {
  if (partial) return 'the run was stopped early';
  if (drift !== undefined) return 'the audit found drift in the data';
  const broken = scenarios.filter(({ error, findings }) => error !== undefined || findings.length > 0).map(({ name }) => name);
  return broken.length === 0 ? undefined : `${broken.join(', ')} failed`;
}
