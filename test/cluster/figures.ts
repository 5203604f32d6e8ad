export interface Figure {
  readonly what: string;
  readonly figure: number | string;
  readonly bound: string;
  readonly isHeld: boolean;
}

/** The figures of one run of a scenario. Each is printed at once. */
export class Figures {
  readonly all: Figure[] = [];

  /** False for a run without figures: it proved nothing. */
  get areHeld(): boolean {
    return this.all.length > 0 && this.all.every(({ isHeld }) => isHeld);
  }

  /** @param bound the bound of the figure, as text. Empty: the figure is not judged. */
  report(what: string, figure: number | string, bound = '', isHeld = true): void {
    this.all.push({ what, figure, bound, isHeld });
    console.log(`${isHeld ? ' ' : '!'} ${what.padEnd(70)} ${shown(figure).padStart(10)}   ${bound}`);
  }

  exactly(what: string, figure: number, bound: number): void {
    this.report(what, figure, `= ${bound}`, figure === bound);
  }

  atMost(what: string, figure: number, bound: number): void {
    this.report(what, figure, `<= ${bound}`, figure <= bound);
  }

  atLeast(what: string, figure: number, bound: number): void {
    this.report(what, figure, `>= ${bound}`, figure >= bound);
  }
}

export function shown(figure: number | string): string {
  return typeof figure === 'number' ? String(Math.round(figure * 10) / 10) : figure;
}

/** The figures of all runs of a scenario. */
export interface Proved {
  readonly name: string;
  readonly about: string;
  readonly runs: readonly Figures[];
}

/** The figures in the table of coin scenarios: a column's title, the figure's name, and how the runs are combined. */
const columns = [
  ['acknowledged', 'acknowledged', sum],
  ['lost', 'lost', sum],
  ['doubled', 'doubled', sum],
  ['keys that no longer replay', 'keys that no longer replay', sum],
  ['wrong sums', 'accounts with a wrong sum', sum],
  ['seconds down', 'seconds without an acknowledgement of the accounts hit', range],
  ['longest wait, ms', 'longest wait for an acknowledgement, ms', range],
] as const;

/** Tables for docs/scale-out.md: one for the scenarios that send credits, and one for the figures of each other scenario. */
export function markdown(proved: readonly Proved[]): string {
  const isOfCoins = ({ runs }: Proved): boolean => runs.some(({ all }) => all.some(({ what }) => what === 'doubled'));
  const done = proved.filter(({ runs }) => runs.length > 0);
  const coins = done
    .filter(isOfCoins)
    .map((one) => [
      `${one.about}${one.runs.length > 1 ? ` (${one.runs.length} runs)` : ''}`,
      ...columns.map(([, what, join]) => join(figuresOf(one, what))),
      one.runs.every(({ areHeld }) => areHeld) ? 'yes' : '**no**',
    ]);
  const others = done
    .filter((one) => !isOfCoins(one))
    .flatMap((one) =>
      one.runs.flatMap(({ all }) =>
        all.map(({ what, figure, bound, isHeld }, index) => [
          index === 0 ? one.about : '',
          what,
          isHeld ? shown(figure) : `**${shown(figure)}**`,
          bound,
        ]),
      ),
    );
  return [
    ...(coins.length === 0 ? [] : [table(['what happens', ...columns.map(([title]) => title), 'held'], coins, 1)]),
    ...(others.length === 0 ? [] : [table(['what happens', 'figure', 'value', 'bound'], others, 2)]),
  ].join('\n\n');
}

function figuresOf({ runs }: Proved, what: string): number[] {
  return runs.flatMap(({ all }) => all.filter((figure) => figure.what === what).map(({ figure }) => Number(figure)));
}

/** Empty without a figure: if no run measured a loss, a 0 would claim that there was none. */
export function sum(figures: readonly number[]): string {
  if (figures.length === 0) return '';
  return figures.reduce((total, figure) => total + figure, 0).toLocaleString('en-GB');
}

function range(figures: readonly number[]): string {
  if (figures.length === 0) return '';
  const [least, most] = [shown(Math.min(...figures)), shown(Math.max(...figures))];
  return least === most ? least : `${least}–${most}`;
}

/** @param texts number of text columns. The others are numbers */
function table(titles: readonly string[], rows: readonly (readonly string[])[], texts: number): string {
  const marks = titles.map((_, index) => (index < texts ? '---' : '--:'));
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  return [titles, marks, ...escaped].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
