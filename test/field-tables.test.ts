import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { CatalogueFile } from '../src/features/catalogue/written.ts';
import { fieldTable } from './field-table.ts';

/** Each table stands in its page between these two lines. */
const BEGIN = (name: string): string => `<!-- Made from ${name} by test/field-tables.test.ts: run it with --update after a change. -->\n`;
const END = '\n<!-- The end of the table. -->';

const tables: readonly (readonly [page: string, name: string, shape: z.ZodType])[] = [
  ['docs/catalogue.md', 'src/features/catalogue/written.ts', CatalogueFile],
];

test.each(tables)('the table of fields in %s is the one of %s', async (page, name, shape) => {
  const file = new URL(`../${page}`, import.meta.url).pathname;
  const text = readFileSync(file, 'utf8');
  const [before, rest] = text.split(BEGIN(name));
  const after = rest!.split(END).slice(1).join(END);
  await expect(`${before}${BEGIN(name)}${fieldTable(shape)}${END}${after}`).toMatchFileSnapshot(file);
});
