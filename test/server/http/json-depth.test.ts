import { expect, test } from 'vitest';
import { tooNestedField } from '../../../src/server/http/json-depth.ts';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const fieldOf = (text: string): string | undefined => tooNestedField(Buffer.from(text));

test.each([
  ['32 levels', nested(32), undefined],
  ['33 levels', nested(33), ''],
  ['33 levels, never closed', '['.repeat(200), ''],
  ['a field of 31 levels', `{"state":${nested(31)},"a":1}`, undefined],
  ['a field of 32 levels', `{"a":"b","state":${nested(32)}}`, 'state'],
  ['objects', `{"first":1, "deep" : ${'{"x":'.repeat(32)}1${'}'.repeat(32)}}`, 'deep'],
  ['brackets in texts', `{"state":"${'['.repeat(500)}"}`, undefined],
  ['brackets in texts behind quotes', `{"state":"\\"${'{'.repeat(500)}\\\\"}`, undefined],
  ['brackets behind a text that ends in a backslash', `{"state\\\\":${nested(32)}}`, 'state\\\\'],
  ['many lists side by side', `[${'[[]],'.repeat(500)}1]`, undefined],
  ['4,096 lists', `[${'[],'.repeat(4095)}1]`, undefined],
  ['4,097 lists', `[${'[],'.repeat(4096)}1]`, ''],
  ['a text that does not end', `{"state":"${'x'.repeat(500)}`, undefined],
  ['a name of its own length', `{"${'n'.repeat(500)}":${nested(32)}}`, 'n'.repeat(64)],
])('%s', (_, text, field) => expect(fieldOf(text)).toBe(field));
