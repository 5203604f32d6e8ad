import { expect, test } from 'vitest';
import { tooDeepField } from '../../src/server/json-depth.ts';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const fieldOf = (text: string): string | undefined => tooDeepField(Buffer.from(text));

test.each([
  ['64 levels', nested(64), undefined],
  ['65 levels', nested(65), ''],
  ['65 levels, never closed', '['.repeat(200), ''],
  ['a field of 63 levels', `{"state":${nested(63)},"a":1}`, undefined],
  ['a field of 64 levels', `{"a":"b","state":${nested(64)}}`, 'state'],
  ['objects', `{"first":1, "deep" : ${'{"x":'.repeat(64)}1${'}'.repeat(64)}}`, 'deep'],
  ['brackets in texts', `{"state":"${'['.repeat(500)}"}`, undefined],
  ['brackets in texts behind quotes', `{"state":"\\"${'{'.repeat(500)}\\\\"}`, undefined],
  ['brackets behind a text that ends in a backslash', `{"state\\\\":${nested(64)}}`, 'state\\\\'],
  ['many lists side by side', `[${'[[]],'.repeat(500)}1]`, undefined],
  ['a text that does not end', `{"state":"${'x'.repeat(500)}`, undefined],
  ['a name of its own length', `{"${'n'.repeat(500)}":${nested(64)}}`, 'n'.repeat(64)],
])('%s', (_, text, field) => expect(fieldOf(text)).toBe(field));
