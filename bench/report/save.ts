import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunResult } from '../result.ts';
import { runMarkdown } from './markdown.ts';
import { pictures } from './pictures.ts';

/** The README shows this folder, and git tracks it: pages and pictures. Only a full run with --publish and without errors writes to it. */
const PUBLISHED = fileURLToPath(new URL('../results', import.meta.url));

/** Git ignores this folder. */
const OTHER = join(PUBLISHED, 'other');

interface Where {
  readonly publish: boolean;
  readonly out: string | undefined;
  readonly folders?: { readonly published: string; readonly other: string };
}

/**
 * Writes the page and the pictures of a run, and all its figures as JSON. The JSON is not published: it has some hundred kilobytes, and a
 * reader finds the figures on the page.
 * @returns a message that names folders and files
 */
export function save(run: RunResult, { publish, out, folders = { published: PUBLISHED, other: OTHER } }: Where): string {
  const refusal = publish ? whyNotPublished(run) : undefined;
  const isOfCluster = run.settings.cluster === true;
  const json = { [isOfCluster ? 'cluster.json' : 'latest.json']: `${JSON.stringify(run, undefined, 2)}\n` };
  const pages: Record<string, string> = isOfCluster
    ? { 'cluster.md': runMarkdown(run) }
    : { 'results.md': runMarkdown(run), ...pictures(run) };
  if (publish && refusal === undefined) return [write(folders.published, pages), write(folders.other, json)].join('\n');
  return [...(refusal === undefined ? [] : [`Not published: ${refusal}.`]), write(out ?? folders.other, { ...json, ...pages })].join('\n');
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
