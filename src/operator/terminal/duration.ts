import { Failure } from '../../process/command.ts';

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Ten years. */
const MOST_MS = 3653 * UNITS.d;

/**
 * The milliseconds that a flag such as `--expires 90d` stands for.
 * @throws Failure for any other unit than minutes, hours or days, and for more than ten years
 */
export function durationOf(flag: string, text: string): number {
  const [, number, unit] = /^(\d{1,7})([mhd])$/.exec(text) ?? [];
  const milliseconds = Number(number) * (UNITS[unit as keyof typeof UNITS] ?? Number.NaN);
  if (!(milliseconds <= MOST_MS)) throw new Failure(`--${flag} takes a time such as 90d, 12h or 30m, at most ten years.`);
  return milliseconds;
}
