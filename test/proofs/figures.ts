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

  atMost(what: string, figure: number, bound: number): void {
    this.report(what, figure, `<= ${bound}`, figure <= bound);
  }

  atLeast(what: string, figure: number, bound: number): void {
    this.report(what, figure, `>= ${bound}`, figure >= bound);
  }

  /** Like `atLeast`, for what a run with `--minutes` may be too short for. */
  needs(what: string, figure: number, bound = 1): void {
    if (this.isWhole || figure >= bound) return this.atLeast(what, figure, bound);
    this.undecided.push(what);
    this.report(what, figure, `>= ${bound}: needs more time`);
  }

  /** A time, or another figure that other work on the machine changes. @param bound the most, or the least and the most */
  time(what: string, figure: number, bound: number | readonly [least: number, most: number]): void {
    const [least, most] = typeof bound === 'number' ? [-Infinity, bound] : bound;
    if (bound === Infinity) return this.report(what, figure);
    const text = typeof bound === 'number' ? `<= ${bound}` : most === Infinity ? `>= ${least}` : `${least} to ${most}`;
    if (this.judgesTimes) this.report(what, figure, text, least <= figure && figure <= most);
    else this.report(what, figure, `${text}: not judged`);
  }
}

export function shown(figure: number | string): string {
  return typeof figure === 'number' ? String(Math.round(figure * 100) / 100) : figure;
}

/** The figures of all runs of a part. */
export interface Proved {
  readonly about: string;
  readonly runs: readonly Figures[];
}

/** A table of all figures in Markdown, for the pages in docs. Several runs of a part are one row: the range of a figure. */
export function markdown(proved: readonly Proved[]): string {
  const rows = proved.flatMap(({ about, runs }) =>
    [
      ...Map.groupBy(
        runs.flatMap(({ all }) => all),
        ({ what }) => what,
      ).values(),
    ].map((all, index) => [
      index > 0 ? '' : runs.length > 1 ? `${about} (${runs.length} runs)` : about,
      all[0]!.what,
      all.every(({ isHeld }) => isHeld) ? range(all) : `**${range(all)}**`,
      all[0]!.bound,
    ]),
  );
  const lines = [['what happens', 'figure', 'value', 'bound'], ['---', '---', '--:', '--:'], ...rows];
  return lines.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n');
}

function range(all: readonly Figure[]): string {
  const numbers = all.flatMap(({ figure }) => (typeof figure === 'number' ? [figure] : []));
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)].map(shown);
  if (numbers.length < all.length) return [...new Set(all.map(({ figure }) => shown(figure)))].join(', ');
  return least === most ? least! : `${least}–${most}`;
}
