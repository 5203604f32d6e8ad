import { expect, test } from 'vitest';
import { tooNestedField } from '../../../src/server/http/json-depth.ts';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const fieldOf = (text: string): string | undefined => tooNestedField(Buffer.from(text));

test.each([
  ['32 levels pass', nested(32), undefined],
  ['33 levels are refused', nested(33), ''],
  ['200 levels that never close are refused', '['.repeat(200), ''],
  ['a field of 31 levels passes', `{"state":${nested(31)},"a":1}`, undefined],
  ['a field of 32 levels is named', `{"a":"b","state":${nested(32)}}`, 'state'],
  ['objects count like lists', `{"first":1, "deep" : ${'{"x":'.repeat(32)}1${'}'.repeat(32)}}`, 'deep'],
  ['brackets in a string do not count', `{"state":"${'['.repeat(500)}"}`, undefined],
  ['brackets in a string behind an escaped quote do not count', `{"state":"\\"${'{'.repeat(500)}\\\\"}`, undefined],
  ['brackets behind a string that ends in a backslash count', `{"state\\\\":${nested(32)}}`, 'state\\\\'],
  ['1,000 lists side by side pass', `[${'[[]],'.repeat(500)}1]`, undefined],
  ['4,096 lists pass', `[${'[],'.repeat(4095)}1]`, undefined],
  ['4,097 lists are refused', `[${'[],'.repeat(4096)}1]`, ''],
  ['a string that does not end passes: JSON.parse refuses it', `{"state":"${'x'.repeat(500)}`, undefined],
  ['a field name of 500 characters is named by its first 64', `{"${'n'.repeat(500)}":${nested(32)}}`, 'n'.repeat(64)],
])('%s', (_, text, field) => expect(fieldOf(text)).toBe(field));
