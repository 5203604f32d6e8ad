import { expect, test } from 'vitest';
import { Fingerprints } from '../../src/consistency/fingerprints.ts';

test('a set of 50,000 fingerprints knows its texts and none of 50,000 others', () => {
  const set = new Fingerprints();
  const texts = Array.from({ length: 50_000 }, (_, index) => `${String(index).padStart(12, '0')}0mhwk0000AbCdEfGhIjKlÄ ${index % 7}`);
  for (const text of texts) set.add(text);
  for (const text of texts.slice(0, 100)) set.add(text);
  expect(set.size).toBe(50_000);
  expect(texts.every((text) => set.has(text))).toBe(true);
  expect(texts.filter((text) => set.has(`${text}.`))).toEqual([]);
  expect(texts.filter((text) => set.has(text.slice(1)))).toEqual([]);
});
