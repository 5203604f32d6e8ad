import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { CatalogueFile } from '../src/features/catalogue/file-shape.ts';
import { sandboxIssue } from '../src/apart/sandbox/issue.ts';
import { LIFECYCLE } from '../src/apart/sandbox/google/subscription-lifecycle.ts';
import { pascal } from '../src/clients/csharp/generate.mjs';
import { snake } from '../src/clients/model.mjs';
import { groups } from '../src/operator/terminal/groups.ts';
import { callTable, ELSEWHERE_IN_JAVASCRIPT } from './call-table.ts';
import { commandTable } from './command-table.ts';
import { fieldTable } from './field-table.ts';

/** Parts of pages that are made from the code, each with the name that stands in the comment before it. */
const parts: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'docs/catalogue.md': { 'src/features/catalogue/file-shape.ts': fieldTable(CatalogueFile) },
  'docs/clients/csharp.md': { 'src/clients/calls.json': callTable(pascal) },
  'docs/clients/gdscript.md': { 'src/clients/calls.json': callTable(snake) },
  'docs/clients/javascript.md': { 'src/clients/calls.json': callTable((name) => name, ELSEWHERE_IN_JAVASCRIPT) },
  'docs/clients/python.md': { 'src/clients/calls.json': callTable(snake) },
  'docs/operator.md': { 'the commands of src/operator/': commandTable(groups) },
  'docs/sandbox.md': {
    'the body of src/apart/sandbox/issue.ts': fieldTable(sandboxIssue.body!),
    'the reply of src/apart/sandbox/issue.ts': fieldTable(sandboxIssue.reply),
    'src/apart/sandbox/google/subscription-lifecycle.ts': LIFECYCLE,
  },
};

const beginOf = (name: string): string => `<!-- Made from ${name} by test/made-parts.test.ts: run it with --update after a change. -->\n\n`;
const END = '\n\n<!-- The end of the made part. -->';

test.each(Object.entries(parts))('%s has the parts that are made from the code', async (page, made) => {
  const file = fileURLToPath(new URL(`../${page}`, import.meta.url));
  let text = readFileSync(file, 'utf8');
  for (const [name, part] of Object.entries(made)) {
    const [before, rest] = text.split(beginOf(name));
    text = `${before}${beginOf(name)}${part}${rest!.slice(rest!.indexOf(END))}`;
  }
  await expect(text).toMatchFileSnapshot(file);
});
