import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunResult } from '../result.ts';
import { runMarkdown } from './markdown.ts';
import { pictures } from './pictures.ts';

/** What the README shows, and what git knows: only a whole run that went well and was told to is written there. */
const PUBLISHED = fileURLToPath(new URL('../results', import.meta.url));

/** Git does not know it. */
const OTHER = join(PUBLISHED, 'other');

/** @returns where to, for people */
export function save(run: RunResult, { publish, out }: { publish: boolean; out: string | undefined }): string {
  const refusal = publish ? whyNotPublished(run) : undefined;
  const folder = out ?? (publish && refusal === undefined ? PUBLISHED : OTHER);
  const files = { 'latest.json': `${JSON.stringify(run, undefined, 2)}\n`, 'results.md': runMarkdown(run), ...pictures(run) };
  return [...(refusal === undefined ? [] : [`Not published: ${refusal}.`]), write(folder, files)].join('\n');
}

/** Of a comparison of two checkouts. */
export function saveComparison(files: Record<string, string>, { out }: { out: string | undefined }): string {
  return write(out ?? OTHER, files);
}

function write(folder: string, files: Record<string, string>): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return `Written to ${relative(process.cwd(), folder) || '.'}/: ${Object.keys(files).join(', ')}`;
}

function whyNotPublished({ partial, scenarios }: RunResult): string | undefined {
  if (partial) return 'the run was stopped before its end';
  const broken = scenarios.filter(({ error, findings }) => error !== undefined || findings.length > 0).map(({ name }) => name);
  return broken.length === 0 ? undefined : `something is wrong in ${broken.join(', ')}`;
}
