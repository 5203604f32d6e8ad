import type { SideKind } from '../scenario.ts';

/** A piece of SVG, as text. */
export type Svg = string;

export function element(name: string, attributes: Record<string, string | number>, ...children: readonly Svg[]): Svg {
  const written = Object.entries(attributes).map(
    ([attribute, value]) => ` ${attribute}="${escaped(typeof value === 'number' ? rounded(value) : value)}"`,
  );
  const open = `<${name}${written.join('')}`;
  return children.length === 0 ? `${open}/>` : `${open}>${children.join('')}</${name}>`;
}

export function text(x: number, y: number, content: string, className = '', anchor: 'start' | 'middle' | 'end' = 'start'): Svg {
  return element('text', { x, y, ...(className === '' ? {} : { class: className }), 'text-anchor': anchor }, escaped(content));
}

/** A group's title, followed by a note in a quieter colour. */
export function heading(y: number, title: string, more: string): Svg {
  const quiet = more === '' ? '' : element('tspan', { class: 'quiet', dx: 10 }, escaped(more));
  return element('text', { x: MARGIN, y }, element('tspan', { class: 'group' }, escaped(title)), quiet);
}

export function line(x1: number, y1: number, x2: number, y2: number, className: string): Svg {
  return element('line', { x1, y1, x2, y2, class: className });
}

/** Each kind of side has a colour. Every bar and line also has its name beside it, so the colours carry no meaning alone. */
export function kindClass(kind: SideKind): string {
  return `k-${kind}`;
}

/** The legend of the thin lines on bars and curves. */
export const WHISKERS = 'Whiskers: quartiles; half of the rounds lie between them.';

export const MARGIN = 24;
export const TOP = 82;

/** A complete SVG picture. It has its own background, so that it is readable on light and dark pages. */
export function picture(
  options: { width: number; height: number; title: string; subtitle: string; note?: string; mark?: string | undefined },
  ...children: readonly Svg[]
): Svg {
  const { width, height, title, subtitle, note, mark } = options;
  return `${element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      viewBox: `0 0 ${rounded(width)} ${rounded(height)}`,
      width,
      height,
      role: 'img',
      'font-family': FONT,
    },
    element('title', {}, escaped(`${title}: ${[subtitle, note].filter(Boolean).join(' ')}`)),
    element('style', {}, STYLE),
    element('rect', { class: 'ground', x: 0.5, y: 0.5, width: width - 1, height: height - 1, rx: 10 }),
    text(MARGIN, 34, title, 'title'),
    text(MARGIN, 53, subtitle, 'quiet'),
    ...(note === undefined ? [] : [text(MARGIN, 69, note, 'quiet')]),
    ...children,
    ...(mark === undefined ? [] : stamp(mark, width, height)),
  )}\n`;
}

/** Writes the mark into the head of the picture and across it, so that it cannot be mistaken for a measurement. */
function stamp(mark: string, width: number, height: number): Svg[] {
  const times = Math.max(1, Math.round((height - TOP) / 320));
  const across = Array.from({ length: times }, (_, index) => {
    const y = TOP + ((height - TOP) * (index + 0.5)) / times;
    const turned = { transform: `rotate(-14 ${rounded(width / 2)} ${rounded(y)})` };
    return element('text', { x: width / 2, y, class: 'stamp', 'text-anchor': 'middle', ...turned }, escaped(mark));
  });
  return [text(width - MARGIN, 34, mark, 'mark', 'end'), ...across];
}

/** Estimated width of a label. The exact width depends on the font of the reader's browser. */
export function widthOf(content: string): number {
  return content.length * 6.4;
}

function rounded(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";

const STYLE = `
.ground{fill:#ffffff;stroke:#d0d7de}
text{fill:#1f2328;font-size:12px}
.title{font-size:18px;font-weight:600}
.group{font-size:13px;font-weight:600}
.quiet{fill:#59636e}
.mark{fill:#cf222e;font-size:15px;font-weight:600}
.stamp{fill:#cf222e;font-size:46px;font-weight:600;opacity:.22}
.grid{stroke:#d0d7de;stroke-width:1}
.spread{stroke:#1f2328;stroke-width:1;opacity:.55}
.k-service{fill:#0969da;stroke:#0969da}
.k-floor{fill:#8c959f;stroke:#8c959f}
.k-peer{fill:#d4722c;stroke:#d4722c}
.bar{stroke:none}
.second{opacity:.45}
.curve{fill:none;stroke-width:2}
.dashed{stroke-dasharray:5 4}
.hollow{fill:#ffffff;stroke-width:2}
@media (prefers-color-scheme:dark){
.ground{fill:#0d1117;stroke:#3d444d}
text{fill:#f0f6fc}
.quiet{fill:#9198a1}
.mark,.stamp{fill:#ff7b72}
.grid{stroke:#3d444d}
.spread{stroke:#f0f6fc}
.k-service{fill:#4493f8;stroke:#4493f8}
.k-floor{fill:#7d8590;stroke:#7d8590}
.k-peer{fill:#e09b5e;stroke:#e09b5e}
.curve{fill:none}
.hollow{fill:#0d1117}
}
`;
