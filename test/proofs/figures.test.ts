import { afterAll, expect, test, vi } from 'vitest';
import { Figures, markdown } from './figures.ts';

const logged = vi.spyOn(console, 'log').mockImplementation(() => {});
afterAll(() => logged.mockRestore());

/** A run of a part, and whether its bounds are held. */
const runs: [title: string, isHeld: boolean, isWhole: boolean, report: (figures: Figures) => void][] = [
  ['with all bounds held', true, true, (figures) => figures.exactly('lost', 0, 0)],
  ['with one that is not', false, true, (figures) => (figures.exactly('lost', 0, 0), figures.atMost('doubled', 1, 0))],
  ['without figures', false, true, () => {}],
  ['that happened too seldom', false, true, (figures) => figures.needs('kills', 0)],
  ['that happened too seldom in the minutes given', true, false, (figures) => figures.needs('kills', 0)],
  ['that took too long', false, true, (figures) => figures.time('ms', 9, [1, 8])],
  ['that took too long on a machine with other work', true, false, (figures) => figures.time('ms', 9, 8)],
];

test.each(runs)('a run %s is held: %s', (_, isHeld, isWhole, report) => {
  const figures = new Figures(isWhole);
  report(figures);
  expect(figures.areHeld).toBe(isHeld);
  expect(figures.undecided).toEqual(_.includes('seldom in') ? ['kills'] : []);
});

test('a table has a row for each figure, with the range over several runs, and marks those out of bounds', () => {
  const all = [0, 2].map((lost) => {
    const figures = new Figures();
    figures.report('rounds', '200; 3');
    figures.exactly('lost', lost, 0);
    figures.report('seconds down', 3.14 + lost);
    return figures;
  });
  expect(markdown([{ about: 'a kill', runs: all }])).toBe(
    [
      '| what happens | figure | value | bound |',
      '| --- | --- | --: | --: |',
      '| a kill (2 runs) | rounds | 200; 3 |  |',
      '|  | lost | **0–2** | = 0 |',
      '|  | seconds down | 3.14–5.14 |  |',
    ].join('\n'),
  );
});
