/**
 * Shows what could steer a terminal as text: control characters (escape sequences begin with one), and characters that reverse or
 * hide the text around them. Names come from users, and Redis may hold anything.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escaped);
}

/** As `printable`, for a text of several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** JSON that a terminal shows as it is. JSON itself escapes the characters below U+0020 only. */
export function printableJson(value: object): string {
  const text = JSON.stringify(value, null, 2);
  return text.replace(UNPRINTABLE_IN_JSON, (character) =>
    Array.from({ length: character.length }, (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`).join(''),
  );
}

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
const UNPRINTABLE_IN_JSON = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}

/** A table with a line for each row. @param rows with a cell for each column */
export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [columns, ...rows.map((row) => row.map((cell) => shortened(printable(cell)) || '-'))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => [...line[index]!].length)));
  return lines
    .map((line) =>
      line
        .map((cell, index) => cell + ' '.repeat(widths[index]! - [...cell].length))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** One cell must not push the others out of sight. */
const LONGEST_CELL = 80;

function shortened(cell: string): string {
  const characters = [...cell];
  return characters.length <= LONGEST_CELL ? cell : `${characters.slice(0, LONGEST_CELL - 1).join('')}…`;
}

/** `2026-11-22 16:20`, in UTC. '' without a time. */
export function minuteOf(at: number | undefined): string {
  return at === undefined ? '' : new Date(at).toISOString().slice(0, 16).replace('T', ' ');
}

/** ISO 8601. Undefined without a time: JSON leaves the field out. */
export function isoTime(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString();
}

/** As `minuteOf`, of an ISO 8601 time. */
export function minuteOfText(time: string | undefined): string {
  return time === undefined ? '' : minuteOf(Date.parse(time));
}

/** A line for each fact, its name in front. */
export function facts(lines: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, value]) => `${name.padEnd(width)}  ${printable(value) || '-'}`).join('\n');
}
