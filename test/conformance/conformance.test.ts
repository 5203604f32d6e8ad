import { afterAll, expect, test } from 'vitest';
import { cases } from './cases/cases.ts';
import { languages } from './languages.ts';
import { Player } from './play.ts';

const players = languages
  .filter(({ name }) => name === 'javascript')
  .map((language) => ({ name: language.name, player: new Player(language) }));
afterAll(() => Promise.all(players.map(({ player }) => player.close())));

test('every case is plain JSON, and no two cases have the same name', () => {
  expect(JSON.parse(JSON.stringify(cases))).toEqual(cases);
  expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
});

test.each(players)('the client in $name plays all cases', async ({ player }) => {
  const problems: string[] = [];
  for (const each of cases) {
    const problem = await player.play(each);
    if (problem !== undefined) problems.push(`${each.kind}: ${each.name}\n${problem}`);
  }
  expect(problems).toEqual([]);
});
