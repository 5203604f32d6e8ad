import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunResult } from '../result.ts';
import { runMarkdown } from './markdown.ts';
import { pictures } from './pictures.ts';

/** The README shows this folder, and git tracks it. Only a full run with --publish and without errors writes to it. */
const PUBLISHED = fileURLToPath(new URL('../results', import.meta.url));

/** Git ignores this folder. */
const OTHER = join(PUBLISHED, 'other');

/** @returns a message that names the folder and the files */
export function save(run: RunResult, { publish, out }: { publish: boolean; out: string | undefined }): string {
  const refusal = publish ? whyNotPublished(run) : undefined;
  const folder = out ?? (publish && refusal === undefined ? PUBLISHED : OTHER);
  const files = { 'latest.json': `${JSON.stringify(run, undefined, 2)}\n`, 'results.md': runMarkdown(run), ...pictures(run) };
  return [...(refusal === undefined ? [] : [`Not published: ${refusal}.`]), write(folder, files)].join('\n');
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
