import { expect, test } from 'vitest';
import * as copies from './copies.ts';
import * as mutants from './mutants.ts';

const lists = Object.entries({ ...copies, ...mutants }).filter((entry): entry is [string, copies.Change[]] => Array.isArray(entry[1]));

test.each(lists)('the service has each text that the copies of %s change', (_, changes) => {
  expect(changes.map((change) => copies.changed(change))).toHaveLength(changes.length);
});
