/** The median; of an even number of values the mean of the two in the middle. NaN of an empty list. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/**
 * The percentile by nearest rank: the smallest value with at least `part` of all values at or below it. NaN of an empty list.
 * @param sorted ascending
 * @param part 0.99 is the 99th percentile
 */
export function percentile(sorted: ArrayLike<number>, part: number): number {
  if (sorted.length === 0) return Number.NaN;
  return sorted[Math.min(sorted.length, Math.max(1, Math.ceil(part * sorted.length))) - 1]!;
}

/** An estimate and its confidence interval, which is infinite when there are too few values for the confidence. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/**
 * The Hodges–Lehmann estimate of the centre of a distribution: the median of the Walsh averages, which are the means of all
 * pairs of values, each value with itself included. The interval is exact, from Wilcoxon's signed-rank test. Both assume only
 * that the distribution is symmetric, and one outlier hardly moves them.
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
 * The ratio between two sides that were measured in turns. It is computed within each pair of rounds, so that a slowdown of
 * the machine, which slows both sides, cancels out. A pair with a missing value is left out.
 */
export function pairedRatio(own: readonly (number | undefined)[], other: readonly (number | undefined)[], confidence: number): Estimate {
  const logs = own.map((value = Number.NaN, round) => Math.log(value / (other[round] ?? Number.NaN))).filter(Number.isFinite);
  const { value, low, high } = hodgesLehmann(logs, confidence);
  return { value: Math.exp(value), low: Math.exp(low), high: Math.exp(high) };
}

/** Whether both ends of the interval differ from the estimate by at most this part of it. */
export function isWithin({ value, low, high }: Estimate, part: number): boolean {
  return high <= value * (1 + part) && low >= value * (1 - part);
}

/**
 * The k for which the k-th smallest and the k-th largest Walsh average bound the interval: the largest k for which the
 * signed-rank statistic of `count` values is below k with at most this probability. 0 when there is no such k.
 */
function ranksOutside(count: number, probability: number): number {
  // parts[sum] is the part of the 2^count ways to give the ranks 1 to count a sign whose positive ranks add up to sum.
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
