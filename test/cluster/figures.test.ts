import { afterAll, expect, test, vi } from 'vitest';
import { Figures, markdown } from './figures.ts';

const logged = vi.spyOn(console, 'log').mockImplementation(() => {});
afterAll(() => logged.mockRestore());

function coins(acknowledged: number, lost: number, downSeconds: number): Figures {
  const figures = new Figures();
  figures.atLeast('acknowledged', acknowledged, 1);
  figures.atMost('lost', lost, 0);
  figures.exactly('doubled', 0, 0);
  figures.report('seconds without an acknowledgement of the accounts hit', downSeconds);
  return figures;
}

test('figures are held as long as each of them is', () => {
  expect(coins(10, 0, 3).areHeld).toBe(true);
  expect(coins(10, 1, 3).areHeld).toBe(false);
  expect(coins(0, 0, 3).areHeld).toBe(false);
  expect(new Figures().areHeld).toBe(false);
});

test('the runs of a scenario with credits are one row: sums, and ranges of times', () => {
  const runs = [coins(60_000, 0, 3.14), coins(50_000, 0, 4)];
  expect(markdown([{ name: 'kill', about: 'a kill', runs }])).toBe(
    '| what happens | acknowledged | lost | doubled | keys that no longer replay | wrong sums | seconds down | longest wait, ms | held |\n' +
      '| --- | --: | --: | --: | --: | --: | --: | --: | --: |\n' +
      '| a kill (2 runs) | 110,000 | 0 | 0 |  |  | 3.1–4 |  | yes |',
  );
});

test('a run that lost a credit makes its row say so', () => {
  expect(markdown([{ name: 'kill', about: 'a kill', runs: [coins(10, 0, 3), coins(10, 2, 3)] }])).toContain('| 20 | 2 | 0 |');
  expect(markdown([{ name: 'kill', about: 'a kill', runs: [coins(10, 0, 3), coins(10, 2, 3)] }])).toContain('**no** |');
});

test('a scenario without credits has a row for each figure', () => {
  const figures = new Figures();
  figures.report('rounds', '200; 3');
  figures.exactly('served', 1, 0);
  expect(markdown([{ name: 'sign-out', about: 'a sign-out', runs: [figures] }])).toBe(
    '| what happens | figure | value | bound |\n' +
      '| --- | --- | --: | --: |\n' +
      '| a sign-out | rounds | 200; 3 |  |\n' +
      '|  | served | **1** | = 0 |',
  );
});
