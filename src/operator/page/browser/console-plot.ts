import { coins, table, type Part } from './console-parts.ts';
import { make } from '../../../web/browser/dom.ts';

/** A plot of days: SVG without a library, because it needs only bars and lines. A table beside it has the figures. */

export interface Series {
  readonly name: string;
  /** A value for each day. Bars below 0 hang down from the zero line. */
  readonly values: readonly number[];
}

interface Plotted {
  readonly title: string;
  /** For people who do not see the plot. */
  readonly description: string;
  readonly days: readonly string[];
  readonly kind: 'bars' | 'lines';
  readonly series: readonly Series[];
  /** Further columns of the table, which the plot does not show. */
  readonly columns?: readonly Series[];
}

/** More series are added up to one, because people cannot tell more colours apart. */
const MOST_SERIES = 6;

const [WIDTH, HEIGHT] = [900, 200];

export function plot({ title, description, days, kind, series, columns = [] }: Plotted): HTMLElement {
  const drawn = fewest(series.filter(({ values }) => values.some((value) => value !== 0)));
  const isEmpty = drawn.length === 0;
  const [low, high] = rangeOf(drawn, days.length, kind);
  const picture = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': description });
  const y = (value: number): number => ((high - value) / (high - low)) * HEIGHT;
  if (kind === 'bars') for (const bar of barsOf(drawn, days, y)) picture.append(bar);
  picture.append(svg('line', { x1: 0, x2: WIDTH, y1: y(0), y2: y(0), class: 'axis' }));
  if (kind === 'lines') for (const line of linesOf(drawn, days, y)) picture.append(line);
  const scale = (value: number): HTMLElement => make('span', { textContent: coins(value) });
  const body = make(
    'div',
    { className: 'drawn' },
    make('div', { className: 'scale' }, scale(high), ...(low < 0 ? [scale(low)] : [scale(0)])),
    picture,
    make('div', { className: 'ends' }, make('span', { textContent: days[0] ?? '' }), make('span', { textContent: days.at(-1) ?? '' })),
  );
  const legend = drawn.map(({ name }, index) => make('li', { className: `k${index}` }, name));
  const figure = make(
    'figure',
    { className: 'plot' },
    isEmpty ? make('p', { className: 'none', textContent: 'Nothing in these days.' }) : body,
    ...(drawn.length > 1 ? [make('ul', { className: 'legend' }, ...legend)] : []),
  );
  const all = [...series, ...columns];
  const rows = days.map((day, at): Part[] => [day, ...all.map(({ values }) => coins(values[at]!))]).toReversed();
  const made = table(`${title}, by day`, ['Day', ...all.map(({ name }) => `#${name}`)], rows, 'No days.');
  return make('div', { className: 'plotted' }, figure, make('div', { className: 'beside' }, made));
}

/** The largest series. The rest is added up, apart above and below the zero line, because sums of both would hide each other. */
function fewest(series: readonly Series[]): readonly Series[] {
  if (series.length <= MOST_SERIES) return series;
  const sumOf = ({ values }: Series): number => values.reduce((sum, value) => sum + value, 0);
  const sorted = series.toSorted((one, other) => Math.abs(sumOf(other)) - Math.abs(sumOf(one)));
  const rest = sorted.slice(MOST_SERIES - 2);
  const added = (name: string, some: readonly Series[]): Series[] =>
    some.length < 2 ? [...some] : [{ name, values: some[0]!.values.map((_, at) => some.reduce((sum, each) => sum + each.values[at]!, 0)) }];
  return [
    ...sorted.slice(0, MOST_SERIES - 2),
    ...added(
      'others above',
      rest.filter((each) => sumOf(each) >= 0),
    ),
    ...added(
      'others below',
      rest.filter((each) => sumOf(each) < 0),
    ),
  ];
}

/** The lowest and the highest value of the plot, with a round figure above the highest. */
function rangeOf(series: readonly Series[], days: number, kind: Plotted['kind']): [low: number, high: number] {
  let [low, high] = [0, 0];
  for (let at = 0; at < days; at++) {
    let [down, up] = [0, 0];
    for (const { values } of series) {
      const value = values[at]!;
      if (kind === 'lines') [down, up] = [Math.min(down, value), Math.max(up, value)];
      else if (value < 0) down += value;
      else up += value;
    }
    [low, high] = [Math.min(low, down), Math.max(high, up)];
  }
  return [-roundUp(-low), Math.max(roundUp(high), low < 0 ? 0 : 1)];
}

/** The next figure with one digit and zeros, or with a 5 behind the 1. */
function roundUp(value: number): number {
  if (value <= 0) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value) ?? 10 * power;
}

function barsOf(series: readonly Series[], days: readonly string[], y: (value: number) => number): SVGElement[] {
  const step = WIDTH / days.length;
  return days.flatMap((day, at) => {
    let [down, up] = [0, 0];
    return series.flatMap(({ name, values }, index) => {
      const value = values[at]!;
      if (value === 0) return [];
      const from = value < 0 ? down : up;
      if (value < 0) down += value;
      else up += value;
      const [top, bottom] = [y(Math.max(from, from + value)), y(Math.min(from, from + value))];
      const bar = svg('rect', {
        x: at * step + step * 0.1,
        y: top,
        width: step * 0.8,
        height: Math.max(bottom - top, 1),
        class: `k${index}`,
      });
      bar.append(svg('title', {}, `${day} · ${name}: ${coins(value)}`));
      return [bar];
    });
  });
}

function linesOf(series: readonly Series[], days: readonly string[], y: (value: number) => number): SVGElement[] {
  const step = WIDTH / days.length;
  return series.map(({ values }, index) =>
    svg('polyline', { points: values.map((value, at) => `${(at + 0.5) * step},${y(value)}`).join(' '), class: `k${index}` }),
  );
}

function svg(tag: string, attributes: Readonly<Record<string, string | number>>, text = ''): SVGElement {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, String(value));
  made.textContent = text;
  return made;
}
