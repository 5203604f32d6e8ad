import type { Cell, Facts, Part } from '../shown/cells.ts';

/**
 * Escapes characters that could control a terminal: control characters (escape sequences begin with such a character), and characters that
 * reverse or hide the text around them. Names come from users, and Redis may hold any text.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escaped).replace(PILED_MARKS, (marks) => Array.from(marks, escaped).join(''));
}

/** Like `printable`, but for a text of several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** JSON that is safe to print to a terminal. JSON itself escapes only the characters below U+0020. */
export function printableJson(value: object): string {
  const text = JSON.stringify(value, null, 2);
  return text.replace(UNPRINTABLE_IN_JSON, (character) =>
    Array.from({ length: character.length }, (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`).join(''),
  );
}

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
const UNPRINTABLE_IN_JSON = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

/** Matches more combining marks on one letter than any language needs. So many marks would cover the lines above and below. */
const PILED_MARKS = /(?<=\p{M}{3})\p{M}+/gu;

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}

/**
 * A table. A row that is wider than the terminal is split into several lines, each with its own columns. Empty further lines are left out.
 * @param rows with a cell for each column
 * @param width of the terminal in characters. A file has none, and a terminal in a container may say 0
 */
export function table(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  width = process.stdout.columns || Number.POSITIVE_INFINITY,
): string {
  const lines = [columns, ...rows.map((row) => row.map((cell) => shortened(printable(cell)) || '-'))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => widthOf(line[index]!))));
  const parts = partsOf(widths, width);
  return lines
    .flatMap((line) =>
      parts
        .filter((part, number) => number === 0 || part.some((index) => line[index] !== '-'))
        .map((part) => (part[0] === 0 ? '' : INDENT) + part.map((index) => padded(line[index]!, widths[index]!)).join(GAP))
        .map((text) => text.trimEnd()),
    )
    .join('\n');
}

const GAP = '  ';
const INDENT = '    ';

/** The columns of each line of a row. */
function partsOf(widths: readonly number[], most: number): number[][] {
  const parts: number[][] = [];
  let used = Number.POSITIVE_INFINITY;
  for (const [index, width] of widths.entries()) {
    const isFirst = index === 0 || used + GAP.length + width > most;
    if (isFirst) parts.push([]);
    used = isFirst ? (index === 0 ? 0 : INDENT.length) + width : used + GAP.length + width;
    parts.at(-1)!.push(index);
  }
  return parts;
}

function padded(cell: string, width: number): string {
  return cell + ' '.repeat(width - widthOf(cell));
}

/** The width of a text in columns of a terminal. A combining mark takes no column, an East Asian letter or an emoji takes two. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += MARK.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

const MARK = /\p{M}/u;
const WIDE =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]/u;

/** The most columns of a cell, so that one cell does not push the others out of sight. */
const LONGEST_CELL = 80;

function shortened(cell: string): string {
  const characters = [...cell];
  return characters.length <= LONGEST_CELL ? cell : `${characters.slice(0, LONGEST_CELL - 1).join('')}…`;
}

/** Converts an ISO 8601 time in UTC to `2026-11-22 16:20:05`. */
const second = (iso: string): string => iso.slice(0, 19).replace('T', ' ');

/** The text of a cell, before `printable`. */
export function textOf(cell: Cell): string {
  if (cell === undefined) return '';
  if (typeof cell !== 'object') return String(cell);
  if ('kind' in cell) return cell.kind === 'time' ? second(cell.text) : cell.text;
  return cell.map(textOf).join('');
}

/** The parts of a reply, with blank lines between them. The titles of tables tell several tables apart. */
export function textOfParts(parts: readonly Part[]): string {
  const hasTitles = parts.filter((part) => typeof part === 'object' && 'rows' in part).length > 1;
  const texts = parts.map((part) => {
    if (typeof part === 'string') return printable(part);
    if ('facts' in part) return facts(part.facts, part.title);
    const { title, none, columns, rows } = part;
    if (rows.length === 0) return none;
    const names = columns.map((name) => name.toUpperCase());
    const made = table(
      names,
      rows.map((row) => row.map(textOf)),
    );
    return hasTitles ? `${title}:\n${made}` : made;
  });
  return texts.filter((text) => text !== '').join('\n\n');
}

/** A line for each fact, with the name of the fact first, below a title. '' without facts. */
export function facts(pairs: Facts, title = ''): string {
  const lines = pairs.map(([name, value]) => [name, printable(textOf(value))] as const).filter(([, text]) => text !== '');
  if (lines.length === 0) return '';
  const width = Math.max(...lines.map(([name]) => name.length));
  return [...(title === '' ? [] : [`${title}:`]), ...lines.map(([name, text]) => `${name.padEnd(width)}  ${text}`)].join('\n');
}
