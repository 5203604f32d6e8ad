import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunResult } from '../result.ts';
import { runMarkdown } from './markdown.ts';
import { pictures } from './pictures.ts';

const RESULTS = fileURLToPath(new URL('../results', import.meta.url));

/**
 * Writes latest.json, and what people look at. The README shows those of a whole run: any other's text and pictures go to
 * a folder beside them.
 * @returns where
 */
export function save(run: RunResult, { isWhole, out }: { isWhole: boolean; out: string | undefined }): string {
  const results = out ?? RESULTS;
  const folder = out !== undefined || (isWhole && !run.partial) ? results : join(results, 'other');
  mkdirSync(folder, { recursive: true });
  const latest = join(results, 'latest.json');
  writeFileSync(latest, `${JSON.stringify(run, undefined, 2)}\n`);
  writeFileSync(join(folder, 'results.md'), runMarkdown(run));
  for (const [name, svg] of Object.entries(pictures(run))) writeFileSync(join(folder, name), svg);
  return `${relative(process.cwd(), latest)} and ${relative(process.cwd(), folder)}/`;
}
