import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** The lines of a member of this kind, each with the line before it. */
function membersOf(file: string, member: RegExp): [text: string, member: string][] {
  const lines = readFileSync(new URL(`../../../src/clients/javascript/${file}`, import.meta.url), 'utf8').split('\n');
  return lines.flatMap((line, index) => (member.test(line) ? [[lines[index - 1]!, line.trim()] as [string, string]] : []));
}

test.each([
  ['each call of the client', 'call-types.ts', /^ {4}readonly \w+: Call<'/, 45],
  ['each act of a game server', 'server.ts', /^ {2}\w+(: (Plain)?Action<|.*\bRoomResult<)/, 10],
])('an editor has a text to show beside %s', (_, file, member, least) => {
  const members = membersOf(file, member);
  expect(members.length).toBeGreaterThan(least);
  expect(members.filter(([text]) => !text.trimEnd().endsWith('*/'))).toEqual([]);
});
