/** The middle value; of an even number the mean of the two in the middle. NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/**
 * The smallest value that at least this part of all are not above (nearest rank). NaN of none.
 * @param sorted ascending
 * @param part 0.99 is the 99th percentile
 */
export function percentile(sorted: ArrayLike<number>, part: number): number {
  if (sorted.length === 0) return Number.NaN;
  return sorted[Math.min(sorted.length, Math.max(1, Math.ceil(part * sorted.length))) - 1]!;
}

/** An estimate and its confidence interval. Too few values for that confidence have an infinite one. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/**
 * The Hodges–Lehmann estimate of where the values' distribution has its centre (the median of all means of two, a value
 * with itself included: the Walsh averages), and the exact confidence interval that belongs to it, from Wilcoxon's
 * signed-rank test. It supposes a symmetric distribution and no more: one round that the machine spoilt does not move it.
 * Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, 3rd edition, sections 3.2 and 3.3.
 * @param confidence 0.95 is 95 %
 */
export function hodgesLehmann(values: readonly number[], confidence: number): Estimate {
  const averages = values.flatMap((one, index) => values.slice(index).map((other) => (one + other) / 2));
  averages.sort((one, other) => one - other);
  const outside = ranksOutside(values.length, (1 - confidence) / 2);
  const value = median(averages);
  if (outside === 0) return { value, low: -Infinity, high: Infinity };
  return { value, low: averages[outside - 1]!, high: averages[averages.length - outside]! };
}

/**
 * The ratio between two sides that were measured in turns, from what each pair of rounds found: whatever slowed a round
 * down slowed both of its sides, and cancels. A pair of which a side found nothing is left out.
 */
export function pairedRatio(own: readonly (number | undefined)[], other: readonly (number | undefined)[], confidence: number): Estimate {
  const logs = own.map((value = Number.NaN, round) => Math.log(value / (other[round] ?? Number.NaN))).filter(Number.isFinite);
  const { value, low, high } = hodgesLehmann(logs, confidence);
  return { value: Math.exp(value), low: Math.exp(low), high: Math.exp(high) };
}

/** Whether the interval's ends are within this part of the estimate. */
export function isWithin({ value, low, high }: Estimate, part: number): boolean {
  return high <= value * (1 + part) && low >= value * (1 - part);
}

/**
 * The k for which the k-th smallest and the k-th largest Walsh average bound the interval: the most for which the signed-rank
 * statistic of `count` values is below k with no more than this probability. 0 where there is none.
 */
function ranksOutside(count: number, probability: number): number {
  // Of the 2^count ways to give ranks 1 to count a sign, the part whose positive ranks sum up to the index.
  let parts = [1];
  for (let rank = 1; rank <= count; rank++) {
    const longer = Array.from({ length: parts.length + rank }, () => 0);
    for (const [sum, part] of parts.entries()) {
      longer[sum]! += part / 2;
      longer[sum + rank]! += part / 2;
    }
    parts = longer;
  }
  let below = 0;
  let outside = 0;
  while (count > 0 && (below += parts[outside]!) <= probability) outside++;
  return outside;
}
