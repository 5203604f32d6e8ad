import { figures, type FigureName } from '../figures.ts';
import type { ScenarioResult, SideResult } from '../result.ts';
import { element, line, MARGIN, picture, text, TOP, WHISKERS, type Svg } from './svg.ts';
import { numberText } from './numbers.ts';

const WIDTH = 840;
const COLUMNS = 2;
const GAP = 30;
const PANEL_WIDTH = (WIDTH - 2 * MARGIN - (COLUMNS - 1) * GAP) / COLUMNS;
const PANEL_HEIGHT = 210;
/** Space around the curves: for the panel's title above, the sizes below, the values left and the curve names right. */
const INSIDE = { top: 34, bottom: 30, left: 40, right: 92 };

/** A figure that is drawn as a curve, and its style. */
interface Curve {
  readonly name: FigureName;
  readonly className: string;
  readonly dot: string;
}

const solid = (name: FigureName): Curve => ({ name, className: 'k-service curve', dot: 'k-service' });
const dashed = (name: FigureName): Curve => ({ name, className: 'k-peer curve dashed', dot: 'k-peer' });

const COST = [solid('serverCpu'), dashed('redisCpu')];
const ANSWERS = [solid('goodput'), dashed('refused')];
const LATENCY = [solid('p50'), dashed('p99')];

/** One drawing: the curves of a scenario's sides over their `at`. */
interface Panel {
  readonly title: string;
  readonly scenario: ScenarioResult;
  readonly curves: readonly Curve[];
}

/** Draws a panel for each growth scenario: the cost of an operation over the size of the data. */
export function growthPicture(scenarios: readonly ScenarioResult[], mark?: string): Svg | undefined {
  const panels = scenarios
    .filter((scenario) => isDrawn(scenario, COST) && !isDrawn(scenario, ANSWERS))
    .map((scenario): Panel => ({ title: scenario.title, scenario, curves: COST }));
  const subtitle = 'CPU per operation, µs, over the size of the data. Flat is better.';
  return curvePicture(panels, { title: 'Growth', subtitle, mark });
}

/** Draws two panels for each scenario of overload: answers a second and latency, over the offered load. */
export function overloadPicture(scenarios: readonly ScenarioResult[], mark?: string): Svg | undefined {
  const panels = scenarios
    .filter((scenario) => isDrawn(scenario, ANSWERS))
    .flatMap((scenario): Panel[] => [
      { title: 'Answers a second', scenario, curves: ANSWERS },
      { title: 'Latency of served requests, ms', scenario, curves: LATENCY },
    ]);
  const subtitle = 'Over the offered load, as a multiple of the capacity. Goodput that stays flat beyond 1 is better.';
  return curvePicture(panels, { title: 'Overload', subtitle, mark });
}

/** Whether every side has a place on the x axis and a figure of the curves. */
function isDrawn({ sides }: ScenarioResult, curves: readonly Curve[]): boolean {
  return (
    sides.length > 1 && sides.every(({ at, figures: found }) => at !== undefined && curves.some(({ name }) => found[name] !== undefined))
  );
}

function curvePicture(panels: readonly Panel[], head: { title: string; subtitle: string; mark: string | undefined }): Svg | undefined {
  if (panels.length === 0) return undefined;
  const drawn = panels.map((one, index) => {
    const x = MARGIN + (index % COLUMNS) * (PANEL_WIDTH + GAP);
    const y = TOP + Math.floor(index / COLUMNS) * PANEL_HEIGHT;
    return element('g', { transform: `translate(${x} ${y})` }, ...panel(one));
  });
  const height = TOP + Math.ceil(panels.length / COLUMNS) * PANEL_HEIGHT + MARGIN / 2;
  return picture({ width: WIDTH, height, ...head, note: WHISKERS }, ...drawn);
}

function panel({ title, scenario, curves }: Panel): Svg[] {
  const sides = scenario.sides.toSorted((one, other) => one.at! - other.at!);
  const sizes = sides.map(({ at }) => Math.log10(at!));
  const highest = Math.max(...sides.flatMap((side) => curves.map(({ name }) => side.figures[name]?.upper ?? 0)));
  const top = niceCeiling(highest);
  const right = PANEL_WIDTH - INSIDE.right;
  const bottom = PANEL_HEIGHT - INSIDE.bottom;
  const x = (size: number): number => INSIDE.left + ((size - sizes[0]!) / (sizes.at(-1)! - sizes[0]!)) * (right - INSIDE.left);
  const y = (value: number): number => bottom - (value / top) * (bottom - INSIDE.top);
  return [
    text(0, 16, title, 'group'),
    ...[0, top / 2, top].flatMap((value) => [
      line(INSIDE.left, y(value), right, y(value), 'grid'),
      text(INSIDE.left - 6, y(value) + 4, numberText(value, value % 1 === 0 ? 0 : 1), 'quiet', 'end'),
    ]),
    ...sides.map(({ at }, index) => text(x(sizes[index]!), bottom + 18, sizeText(at!), 'quiet', 'middle')),
    ...curves.flatMap((curve) => drawn(curve, sides, sizes, x, y)),
    ...labels(curves, sides, right + 8, y),
  ];
}

/** A label at the end of each curve. Labels that would overlap are moved apart. */
function labels(curves: readonly Curve[], sides: readonly SideResult[], at: number, y: (value: number) => number): Svg[] {
  const ends = curves
    .flatMap(({ name }) => {
      const figure = sides.at(-1)!.figures[name];
      return figure === undefined ? [] : [{ name, value: figure.median, place: y(figure.median) + 4 }];
    })
    .toSorted((one, other) => one.place - other.place);
  for (const [index, end] of ends.entries()) {
    const above = ends[index - 1];
    if (above !== undefined) end.place = Math.max(end.place, above.place + LABEL_HEIGHT);
  }
  return ends.map(({ name, value, place }) => text(at, place, `${figures[name].label} ${numberText(value, 0)}`));
}

const LABEL_HEIGHT = 15;

function drawn(
  { name, className, dot }: Curve,
  sides: readonly SideResult[],
  sizes: readonly number[],
  x: (size: number) => number,
  y: (value: number) => number,
): Svg[] {
  const points = sides.flatMap((side, index) => {
    const figure = side.figures[name];
    return figure === undefined ? [] : [{ x: x(sizes[index]!), y: y(figure.median), figure }];
  });
  if (points.length === 0) return [];
  return [
    element('polyline', { points: points.map((point) => `${point.x.toFixed(1)},${point.y.toFixed(1)}`).join(' '), class: className }),
    ...points.map(({ x: at, figure }) => line(at, y(figure.lower), at, y(figure.upper), 'spread')),
    ...points.map((point) => element('circle', { cx: point.x, cy: point.y, r: 3, class: dot })),
  ];
}

/** The next 1, 2 or 5 times a power of ten. */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10);
}

/** 1,000,000 is 1M. */
function sizeText(size: number): string {
  if (size >= 1e6) return `${size / 1e6}M`;
  return size >= 1000 ? `${size / 1000}k` : String(size);
}
