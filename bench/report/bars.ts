import type { FigureName } from '../figures.ts';
import type { ScenarioResult, SideResult } from '../result.ts';
import { element, heading, kindClass, line, MARGIN, picture, text, TOP, widthOf, type Svg } from './svg.ts';

export interface Bars {
  readonly title: string;
  readonly subtitle: string;
  readonly figure: FigureName;
  /** Drawn behind the first, lighter. */
  readonly second?: FigureName;
  readonly valueText: (side: SideResult) => string;
}

const WIDTH = 840;
const ROW = 21;
const BAR = 13;
const GROUP_HEAD = 28;
const GROUP_GAP = 12;
const BARS_FROM = 240;

/** A group of bars for each scenario, one for each side. Lengths compare within a group; the figures stand beside them. */
export function barPicture(scenarios: readonly ScenarioResult[], bars: Bars): Svg | undefined {
  const groups = scenarios
    .map((scenario) => ({ scenario, sides: scenario.sides.filter((side) => lengthOf(side, bars) > 0) }))
    .filter(({ sides }) => sides.length > 0);
  if (groups.length === 0) return undefined;
  const children: Svg[] = [];
  let y = TOP;
  for (const { scenario, sides } of groups) {
    children.push(heading(y + 16, scenario.title, `a ${scenario.operation}`));
    y += GROUP_HEAD;
    const room = WIDTH - MARGIN - BARS_FROM - Math.max(...sides.map((side) => widthOf(bars.valueText(side)))) - 8;
    const scale = room / Math.max(...sides.map((side) => reachOf(side, bars)));
    for (const side of sides) {
      children.push(...row(side, bars, y, scale));
      y += ROW;
    }
    y += GROUP_GAP;
  }
  return picture({ width: WIDTH, height: y + MARGIN - GROUP_GAP, title: bars.title, subtitle: bars.subtitle }, ...children);
}

function row(side: SideResult, bars: Bars, y: number, scale: number): Svg[] {
  const middle = y + ROW / 2;
  const first = side.figures[bars.figure];
  const length = (first?.median ?? 0) * scale;
  const total = lengthOf(side, bars) * scale;
  const bar = (from: number, to: number, className: string): Svg =>
    element('rect', { x: BARS_FROM + from, y: middle - BAR / 2, width: Math.max(to - from, 1), height: BAR, rx: 2, class: className });
  return [
    text(BARS_FROM - 10, middle + 4, side.name, '', 'end'),
    ...(length > 0 ? [bar(0, length, `${kindClass(side.kind)} bar`)] : []),
    ...(total > length ? [bar(length, total, `${kindClass(side.kind)} bar second`)] : []),
    // How far the rounds lay apart.
    ...(first !== undefined && first.rounds.length > 1
      ? [line(BARS_FROM + first.lowest * scale, middle, BARS_FROM + first.highest * scale, middle, 'spread')]
      : []),
    text(BARS_FROM + reachOf(side, bars) * scale + 8, middle + 4, bars.valueText(side)),
  ];
}

function lengthOf({ figures }: SideResult, { figure, second }: Bars): number {
  return (figures[figure]?.median ?? 0) + (second === undefined ? 0 : (figures[second]?.median ?? 0));
}

/** To the end of the bar or of its spread. */
function reachOf(side: SideResult, bars: Bars): number {
  return Math.max(lengthOf(side, bars), side.figures[bars.figure]?.highest ?? 0);
}
