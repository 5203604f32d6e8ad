import { percentile } from '../../bench/measure/statistics.ts';

export interface Figure {
  readonly what: string;
  readonly figure: number | string;
  readonly bound: string;
  readonly isHeld: boolean;
}

/** The figures of one run of a part. Each is printed at once. */
export class Figures {
  readonly all: Figure[] = [];
  /** Checks that a run with `--minutes` was too short for. */
  readonly undecided: string[] = [];
  /** False for a run with `--minutes`, whose load is smaller. */
  readonly isWhole: boolean;
  /** Times are not judged in a run with `--minutes`, which is for machines that also do other work, or if the load itself was late. */
  judgesTimes: boolean;

  constructor(isWhole = true) {
    this.isWhole = this.judgesTimes = isWhole;
  }

  /** False for a run without figures: it proved nothing. */
  get areHeld(): boolean {
    return this.all.length > 0 && this.all.every(({ isHeld }) => isHeld);
  }

  /** @param bound the bound of the figure, as text. Empty: the figure is not judged. */
  report(what: string, figure: number | string, bound = '', isHeld = true): void {
    this.all.push({ what, figure, bound, isHeld });
    console.log(`${isHeld ? ' ' : '!'} ${what.padEnd(70)} ${shown(figure).padStart(10)}   ${bound}`);
  }

  exactly(what: string, figure: number | null, bound: number): void {
    this.report(what, figure ?? 'none', `= ${bound}`, figure === bound);
  }

  /** Differences: none may be there. */
  none(found: Readonly<Record<string, number>>): void {
    for (const [what, count] of Object.entries(found)) this.exactly(what, count, 0);
  }

  atMost(what: string, figure: number, bound: number): void {
    this.report(what, figure, `<= ${bound}`, figure <= bound);
  }

  atLeast(what: string, figure: number, bound: number): void {
    this.report(what, figure, `>= ${bound}`, figure >= bound);
  }

  /** Like `atLeast`, for what a run with `--minutes` may be too short for. */
  needs(what: string, figure: number, bound = 1): void {
    if (this.isWhole || figure >= bound) return this.atLeast(what, figure, bound);
    this.notShown(what, figure, `>= ${bound}: needs more time`);
  }

  /** For what a run with `--minutes` could not show. */
  notShown(what: string, figure: number | string, bound = 'needs another run'): void {
    this.undecided.push(what);
    this.report(what, figure, bound);
  }

  /** A time, or another figure that other work on the machine changes. @param bound the most, or the least and the most */
  time(what: string, figure: number, bound: number | readonly [least: number, most: number]): void {
    const [least, most] = typeof bound === 'number' ? [-Infinity, bound] : bound;
    const text = [...(least > -Infinity ? [`>= ${least}`] : []), ...(most < Infinity ? [`<= ${most}`] : [])].join(', ');
    if (text === '' || this.judgesTimes) this.report(what, figure, text, text === '' || (least <= figure && figure <= most));
    else this.report(what, figure, `${text}: not judged`);
  }
}

function shown(figure: number | string): string {
  return typeof figure === 'number' ? String(Math.round(figure * 100) / 100) : figure;
}

/** A percentile of times in any order. @param part default: the 99th percentile */
export function quantile(times: readonly number[], part = 0.99): number {
  return percentile(
    times.toSorted((one, other) => one - other),
    part,
  );
}

/** The figures of all runs of a part. */
export interface Proved {
  readonly about: string;
  readonly runs: readonly Figures[];
}

/** A table of all figures in Markdown, for the pages in docs. Several runs of a part are one row: the range of a figure. */
export function markdown(proved: readonly Proved[]): string {
  const rows = proved.flatMap(({ about, runs }) => {
    const figures = Map.groupBy(
      runs.flatMap(({ all }) => all),
      ({ what }) => what,
    );
    const title = runs.length > 1 ? `${about} (${runs.length} runs)` : about;
    return [...figures].map(([what, all], index) => {
      const value = all.every(({ isHeld }) => isHeld) ? range(all) : `**${range(all)}**`;
      return [index > 0 ? '' : title, what, value, all[0]!.bound];
    });
  });
  const lines = [['what happens', 'figure', 'value', 'bound'], ['---', '---', '--:', '--:'], ...rows];
  return lines.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n');
}

function range(all: readonly Figure[]): string {
  const different = [...new Set(all.map(({ figure }) => figure))];
  const numbers = different.filter((figure) => typeof figure === 'number').toSorted((one, other) => one - other);
  if (numbers.length < different.length || numbers.length === 1) return different.map(shown).join(', ');
  return `${shown(numbers[0]!)}–${shown(numbers.at(-1)!)}`;
}
