import { expect, test } from 'vitest';
import { isKnown, judgeChange, type ChangeVerdict } from '../../../bench/compare/judge.ts';
import { verdictText } from '../../../bench/compare/report.ts';
import { seeded } from '../../seeded.ts';
import { sized } from '../../sized.ts';

const around = (middle: number): number[] => [0.98, 0.985, 0.99, 1, 1, 1.01, 1.015, 1.02].map((part) => part * middle);

test.each<[verdict: ChangeVerdict, text: string, ratios: number[]]>([
  ['no difference', 'no difference', around(1)],
  ['slower', 'slower by 2.9–7.1 %', around(1.05)],
  ['faster', 'faster by 8.2–11.8 %', around(0.9)],
  // The interval is neither within 3 % nor beyond 3 %.
  ['not decided', 'not decided', around(1.025)],
  // A 99 % interval needs eight pairs.
  ['not decided', 'not decided', Array.from({ length: 7 }, () => 2)],
  ['slower', 'slower by 100.0–100.0 %', Array.from({ length: 8 }, () => 2)],
  ['not decided', 'not decided', []],
])('the verdict is "%s" (%s) for pairs with the ratios %j', (verdict, text, ratios) => {
  expect(judgeChange(ratios).verdict).toBe(verdict);
  expect(verdictText(judgeChange(ratios))).toBe(text);
});

const random = seeded(11);
const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/**
 * Simulates comparisons of a tree that costs `ratio` times the commit, where processes of the same code differ by `bias`. Each adds pairs
 * until the figure is known or `most` pairs have run.
 */
function compared(count: number, most: number, ratio: number, bias: number): ChangeVerdict[] {
  return Array.from({ length: count }, () => {
    const ratios: number[] = [];
    while (ratios.length < 8 || (ratios.length < most && !isKnown(ratios))) ratios.push(ratio * Math.exp(bias * normal()));
    return judgeChange(ratios).verdict;
  });
}

test.each([
  [0.015, 20],
  [0.03, 14],
  [0.06, 12],
])('a comparison of a tree with itself in twenty figures rarely reports a change, at a noise of %d', (bias, most) => {
  const comparisons = sized(34, 100);
  const cries = Array.from({ length: comparisons }, () => compared(20, most, 1, bias).some((verdict) => /slower|faster/.test(verdict)));
  expect(cries.filter(Boolean).length).toBeLessThanOrEqual(comparisons * 0.06);
});

test('a comparison finds that nothing has changed, and 5 % more work in a request', () => {
  const [same, changed] = [sized(100, 300), sized(70, 200)];
  expect(compared(same, 20, 1, 0.015).filter((verdict) => verdict === 'no difference').length).toBeGreaterThan(same * 0.96);
  for (const bias of [0.01, 0.02]) {
    const verdicts = Map.groupBy(compared(changed, 20, 1.05, bias), (verdict) => verdict);
    expect(verdicts.get('slower')!.length).toBeGreaterThan(changed * 0.92);
    expect([...verdicts.keys()].filter((verdict) => verdict !== 'slower' && verdict !== 'not decided')).toEqual([]);
  }
});
