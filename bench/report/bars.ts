import type { FigureName } from '../figures.ts';
import type { SideResult } from '../result.ts';
import { element, heading, kindClass, line, MARGIN, picture, text, TOP, widthOf, type Svg } from './svg.ts';

export interface Bars {
  readonly title: string;
  readonly subtitle: string;
  readonly note: string;
  readonly groups: readonly BarGroup[];
  /** Text stamped across the picture, for results that are no measurement. */
  readonly mark?: string | undefined;
}

/** The sides of one scenario. Each group has its own scale. */
export interface BarGroup {
  readonly title: string;
  readonly more: string;
  readonly sides: readonly SideResult[];
  readonly figure: FigureName;
  /** Appended to the bar of the first figure, in a lighter colour. */
  readonly second?: FigureName;
  readonly valueText: (side: SideResult) => string;
}

const WIDTH = 840;
const ROW = 21;
const BAR = 13;
const GROUP_HEAD = 28;
const GROUP_GAP = 12;
const BARS_FROM = 240;

/** Draws a group of bars for each scenario, one bar a side. A group of one bar compares nothing and is left out. */
export function barPicture({ groups, ...head }: Bars): Svg | undefined {
  const drawn = groups
    .map((group) => ({ ...group, sides: group.sides.filter((side) => (side.figures[group.figure]?.median ?? 0) > 0) }))
    .filter(({ sides }) => sides.length > 1);
  if (drawn.length === 0) return undefined;
  const children: Svg[] = [];
  let y = TOP;
  for (const group of drawn) {
    children.push(heading(y + 16, group.title, group.more));
    y += GROUP_HEAD;
    const room = WIDTH - MARGIN - BARS_FROM - Math.max(...group.sides.map((side) => widthOf(group.valueText(side)))) - 8;
    const scale = room / Math.max(...group.sides.map((side) => reachOf(side, group)));
    for (const side of group.sides) {
      children.push(...row(side, group, y, scale));
      y += ROW;
    }
    y += GROUP_GAP;
  }
  return picture({ width: WIDTH, height: y + MARGIN - GROUP_GAP, ...head }, ...children);
}

function row(side: SideResult, group: BarGroup, y: number, scale: number): Svg[] {
  const middle = y + ROW / 2;
  const first = side.figures[group.figure];
  const length = (first?.median ?? 0) * scale;
  const total = lengthOf(side, group) * scale;
  const bar = (from: number, to: number, className: string): Svg =>
    element('rect', { x: BARS_FROM + from, y: middle - BAR / 2, width: Math.max(to - from, 1), height: BAR, rx: 2, class: className });
  return [
    text(BARS_FROM - 10, middle + 4, side.name, '', 'end'),
    bar(0, length, `${kindClass(side.kind)} bar`),
    ...(total > length ? [bar(length, total, `${kindClass(side.kind)} bar second`)] : []),
    ...(first !== undefined && first.rounds.length > 1
      ? [line(BARS_FROM + first.lower * scale, middle, BARS_FROM + first.upper * scale, middle, 'spread')]
      : []),
    text(BARS_FROM + reachOf(side, group) * scale + 8, middle + 4, group.valueText(side)),
  ];
}

function lengthOf({ figures }: SideResult, { figure, second }: BarGroup): number {
  return (figures[figure]?.median ?? 0) + (second === undefined ? 0 : (figures[second]?.median ?? 0));
}

/** The end of the bar or of its whisker, whichever is further. */
function reachOf(side: SideResult, group: BarGroup): number {
  return Math.max(lengthOf(side, group), side.figures[group.figure]?.upper ?? 0);
}
