import { snakeCase } from './script-text.ts';
import { placeIn, type AnyFormat } from './text-format.ts';

/** A string in Lua that names a format and some of its fields: `'<entry: seq, key>'`. `text-format.ts` describes the notation. */
const REFERENCE = /'<(\w+)(?:: (\w[\w., ]*))?>'/g;

/**
 * Replaces each string in the Lua code that names a format. Depending on the function around it, a Lua pattern, a format string or
 * positions take its place.
 * @param script the script's name for error messages
 * @throws Error for an unknown format or field
 */
export function withFormats(script: string, lua: string, formats: readonly AnyFormat[]): string {
  return lua.replace(REFERENCE, (reference, name: string, fields: string | undefined, at: number) => {
    try {
      const format = formats.find((known) => known.name === name);
      if (format === undefined) throw new Error('the script has no such format');
      const call = callAround(lua, at);
      const make = notations[call];
      if (make === undefined) throw new Error(`${call || 'no call'} takes no format`);
      return make(format, spansOf(format, fields));
    } catch (error) {
      throw new Error(`${script}.lua: ${reference}: ${(error as Error).message}`, { cause: error });
    }
  });
}

/** Neighbouring fields of a format that Lua reads or writes as one text. `from` and `to` are their indexes in the layout's `parts`. */
interface Span {
  readonly from: number;
  readonly to: number;
}

const notations: Record<string, ((format: AnyFormat, spans: readonly Span[]) => string) | undefined> = {
  'string.match': (format, spans) => quoted(`^${patternOf(format, spans, spans.at(-1)!.to)}${isWhole(format, spans) ? '$' : ''}`),
  'string.gmatch': (format, spans) => quoted(patternOf(format, spans, format.layout.parts.length - 1)),
  'string.gsub': (format, spans) => quoted(patternOf(format, spans, format.layout.parts.length - 1)),
  'string.format': (format, spans) => quoted(templateOf(format, spans)),
  'string.sub': positionsOf,
};

/** The name of the Lua function whose argument begins at this index. Parentheses in string arguments of the function would mislead it. */
function callAround(lua: string, at: number): string {
  let depth = 0;
  for (let index = at - 1; index >= 0; index--) {
    if (lua[index] === ')') depth++;
    else if (lua[index] === '(' && depth-- === 0) return /[\w.]*$/.exec(lua.slice(Math.max(0, index - 40), index))![0];
  }
  return '';
}

function spansOf({ layout: { parts } }: AnyFormat, fields: string | undefined): Span[] {
  if (fields === undefined) return parts.map((_, index) => ({ from: index, to: index }));
  const spans = fields.split(', ').map((words): Span => {
    const [from, to] = words.split('..').map((field) => {
      const index = parts.findIndex((part) => snakeCase(part.field) === field);
      if (index === -1) throw new Error(`it has no field ${field}`);
      return index;
    });
    return { from: from!, to: to ?? from! };
  });
  if (spans.some(({ from, to }, index) => from > to || from <= (spans[index - 1]?.to ?? -1)))
    throw new Error('the fields have another order');
  return spans;
}

function isWhole({ layout: { parts } }: AnyFormat, spans: readonly Span[]): boolean {
  return spans.at(-1)!.to === parts.length - 1;
}

/** The Lua pattern for the parts up to the index `last`, with a capture for each span. */
function patternOf({ layout: { parts, end } }: AnyFormat, spans: readonly Span[], last: number): string {
  let pattern = '';
  for (const [index, { before, kind }] of parts.slice(0, last + 1).entries()) {
    const span = spans.find(({ from, to }) => from <= index && index <= to);
    const [opens, closes] = [span?.from === index, span?.to === index];
    const { lua, length, isSigned, isOptional } = kind;
    // If a span of several fields reaches the end of the text, the pattern captures it without a check of its characters, which is as fast
    // as a copy.
    if (opens && !closes && span!.to === parts.length - 1 && end === '') return `${pattern}${escaped(before)}(.*)`;
    if (isOptional === true && opens) {
      if (!closes) throw new Error('no text of several fields begins with an optional one');
      // The field before the optional field ends at the first character of either the optional field or the text behind it.
      const behind = index + 1 === parts.length ? end : parts[index + 1]!.before;
      pattern += `%f[${escaped(before)}${behind === '' ? '%z' : escaped(behind[0]!)}]`;
    }
    const characters = (isSigned === true ? '%-?' : '') + (typeof length === 'number' ? lua.repeat(length) : lua + length);
    pattern += `${escaped(before)}${isOptional === true ? '?' : ''}${opens ? '(' : ''}${characters}${closes ? ')' : ''}`;
  }
  const next = parts[last + 1];
  // The last field ends at the first character of the text behind it.
  return pattern + (next === undefined ? escaped(end) : next.kind.isOptional === true ? '' : escaped(next.before));
}

function templateOf({ layout: { parts, end } }: AnyFormat, spans: readonly Span[]): string {
  const texts = parts.map(({ before, kind, field }, index) => {
    const span = spans.find(({ from, to }) => from <= index && index <= to);
    if (span === undefined && kind.isOptional !== true) throw new Error(`it lacks ${field}`);
    if (span === undefined || span.from < index) return '';
    return before.replaceAll('%', '%%') + (span.to === index ? (kind.directive ?? '%s') : '%s');
  });
  return texts.join('') + end.replaceAll('%', '%%');
}

/** The arguments of string.sub that cut out a span: the positions of its first and last character, counted from 1. */
function positionsOf({ layout: { parts } }: AnyFormat, [span, ...more]: readonly Span[]): string {
  if (span === undefined || more.length > 0) throw new Error('string.sub takes one text');
  const [begin, end] = [placeIn(parts, span.from)[0], placeIn(parts, span.to)[1]];
  return `${begin + 1}, ${end ?? -1}`;
}

function escaped(literal: string): string {
  return literal.replace(/[$%()*+.?[\]^-]/g, '%$&');
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&').replaceAll('\n', '\\n')}'`;
}
