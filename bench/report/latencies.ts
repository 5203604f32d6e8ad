import type { ScenarioResult, SideResult } from '../result.ts';
import { element, heading, kindClass, line, MARGIN, picture, text, TOP, type Svg } from './svg.ts';
import { numberText } from './numbers.ts';

const WIDTH = 840;
const ROW = 21;
const GROUP_HEAD = 28;
const GROUP_GAP = 12;
const AXIS_FROM = 240;
const AXIS_TO = 650;
const AXIS_HEIGHT = 24;

const percentiles = ['p50', 'p99', 'p999'] as const;

/** Draws a line from p50 over p99 to p99.9 for each side, on one logarithmic axis. */
export function latencyPicture(scenarios: readonly ScenarioResult[], mark?: string): Svg | undefined {
  const groups = scenarios
    .map((scenario) => ({
      scenario,
      sides: scenario.sides.filter(({ figures }) => percentiles.every((name) => (figures[name]?.median ?? 0) > 0)),
    }))
    .filter(({ sides }) => sides.length > 0);
  if (groups.length === 0) return undefined;
  const all = groups.flatMap(({ sides }) => sides.flatMap(({ figures }) => percentiles.map((name) => figures[name]!.median)));
  const from = Math.floor(Math.log10(Math.min(...all)));
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...all))));
  const x = (milliseconds: number): number => AXIS_FROM + ((Math.log10(milliseconds) - from) / (to - from)) * (AXIS_TO - AXIS_FROM);

  const rows: Svg[] = [];
  let y = TOP + AXIS_HEIGHT;
  for (const { scenario, sides } of groups) {
    const rate = sides[0]!.figures.atRate?.median;
    rows.push(heading(y + 16, scenario.title, rate === undefined ? '' : `at ${numberText(rate, 0)}/s`));
    y += GROUP_HEAD;
    for (const side of sides) {
      rows.push(...row(side, y + ROW / 2, x));
      y += ROW;
    }
    y += GROUP_GAP;
  }
  const axis = Array.from({ length: to - from + 1 }, (_, step) => 10 ** (from + step)).flatMap((milliseconds) => [
    line(x(milliseconds), TOP + AXIS_HEIGHT, x(milliseconds), y - GROUP_GAP, 'grid'),
    text(x(milliseconds), TOP + 14, `${milliseconds} ms`, 'quiet', 'middle'),
  ]);
  const subtitle = 'p50 (dot), p99 (ring) and p99.9 (end) at a fixed arrival rate, measured from the due time. Left is better.';
  return picture({ width: WIDTH, height: y + MARGIN - GROUP_GAP, title: 'Latency', subtitle, mark }, ...axis, ...rows);
}

function row(side: SideResult, middle: number, x: (milliseconds: number) => number): Svg[] {
  const [p50, p99, p999] = percentiles.map((name) => side.figures[name]!.median) as [number, number, number];
  const colour = kindClass(side.kind);
  const values = [p50, p99, p999].map((value) => numberText(value, value < 10 ? 2 : 0)).join(' / ');
  return [
    text(AXIS_FROM - 10, middle + 4, side.name, '', 'end'),
    line(x(p50), middle, x(p999), middle, `${colour} curve`),
    line(x(p999), middle - 4, x(p999), middle + 4, `${colour} curve`),
    element('circle', { cx: x(p99), cy: middle, r: 3.5, class: `${colour} hollow` }),
    element('circle', { cx: x(p50), cy: middle, r: 4.5, class: colour }),
    text(WIDTH - MARGIN, middle + 4, `${values} ms`, '', 'end'),
  ];
}
