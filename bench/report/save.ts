import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunResult } from '../result.ts';
import { runMarkdown } from './markdown.ts';
import { pictures } from './pictures.ts';

const results = fileURLToPath(new URL('../results/', import.meta.url));

/**
 * Writes latest.json, and beside it what people look at. What the README shows is of a whole run: any other's text and
 * pictures go to results/other.
 * @returns where
 */
export function save(run: RunResult, isWhole: boolean): string {
  const folder = isWhole ? results : join(results, 'other');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(results, 'latest.json'), `${JSON.stringify(run, undefined, 2)}\n`);
  writeFileSync(join(folder, 'results.md'), runMarkdown(run));
  for (const [name, svg] of Object.entries(pictures(run))) writeFileSync(join(folder, name), svg);
  return `${relative(process.cwd(), join(results, 'latest.json'))} and ${relative(process.cwd(), folder)}/`;
}
