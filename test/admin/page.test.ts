import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { accounts } from '../../src/admin/accounts.ts';
import { boards } from '../../src/admin/boards.ts';
import { readInput } from '../../src/admin/input.ts';
import { keys } from '../../src/admin/keys.ts';
import { log } from '../../src/admin/log.ts';
import { rooms } from '../../src/admin/rooms.ts';

const groups = [accounts, boards, rooms, keys, log];
const page = readFileSync(new URL('../../docs/operator.md', import.meta.url), 'utf8');

test('docs/operator.md names every command', () => {
  const missing = groups.flatMap(({ name, commands, usual }) =>
    Object.keys(commands).filter((command) => {
      if (command === usual) return !page.includes(`| \`${name} [`);
      return !page.includes(`\`${name} ${command}`) && !new RegExp(`\`${name} .*\`, .*\`${command}\``).test(page);
    }),
  );
  expect(missing).toEqual([]);
});

test('the commands of the walk are understood', () => {
  const walk = [...page.matchAll(/^npm run admin -- (accounts .*)$/gm)].map(([, line]) => line!);
  expect(walk).toHaveLength(2);
  for (const line of walk) {
    const words = Array.from(line.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, word]) => quoted ?? word!);
    const { command, input } = readInput(words, groups);
    expect(command!.plan(input)).toBeTypeOf('function');
  }
});
