/**
 * A text in Redis that TypeScript and Lua both read or write, declared once. TypeScript parses and writes it with the declaration. A Lua file
 * names the format and the fields that it needs in a string, and `lua-formats.ts` replaces the string when the script is defined, so that the
 * script runs what one would write by hand:
 *
 * - `string.match(text, '<entry: seq, key>')`: a pattern of the text, with a capture for each of these fields
 * - `string.gmatch(lines, '<guest: id>')`, `string.gsub`: the same anywhere in a text of many
 * - `string.format('<entry: seq, balance, key>', …)`: the fields as a text. Only optional fields may be left out
 * - `string.sub(text, '<member: player_id>')`: the place of a field of fixed length
 *
 * Without names the string means all fields. `a..b` is the text from field `a` to field `b`, as one value. In Lua an optional field that is
 * not there is ''.
 */
export interface TextFormat<Fields extends Kinds> {
  readonly name: string;
  readonly layout: Layout;
  /** @returns undefined if the text does not have the format */
  readonly parse: (text: string) => ValuesOf<Fields> | undefined;
  /** Values that their kinds would not parse make a text that is not read either. */
  readonly write: (values: ValuesOf<Fields>) => string;
  /** Where a field begins and ends, for `slice`. Fields before it have fixed lengths. The end is undefined for the rest of the text. */
  readonly placeOf: (field: keyof Fields) => [begin: number, end: number | undefined];
}

export type AnyFormat = Pick<TextFormat<Kinds>, 'name' | 'layout'>;

/** The values of a format: `Parsed<typeof ledgerEntry>`. */
export type Parsed<Format extends { readonly parse: (text: string) => unknown }> = NonNullable<ReturnType<Format['parse']>>;

export interface Kind<Value> {
  /** One character of the field: in a regular expression, and in a Lua pattern. Both must match the same bytes. */
  readonly js: string;
  readonly lua: string;
  /** Number of characters. */
  readonly length: '+' | '*' | number;
  readonly isSigned?: boolean;
  readonly isOptional?: boolean;
  /** How Lua writes the field. `%d` writes large numbers exactly. Default: `%s`. */
  readonly directive?: string;
  parse(text: string): Value;
  print(value: Value): string;
}

type Kinds = Readonly<Record<string, Kind<unknown>>>;

type ValuesOf<Fields extends Kinds> = {
  readonly [Name in keyof Fields]: ReturnType<Fields[Name]['parse']>;
};

interface Layout {
  /** `before`: the text between the previous field and this one. */
  readonly parts: readonly { readonly field: string; readonly kind: Kind<unknown>; readonly before: string }[];
  readonly end: string;
}

const digits = { js: '\\d', lua: '%d', length: '+', directive: '%d', parse: Number, print: String } as const;

/** A whole number from 0 on. */
export const whole: Kind<number> = digits;

export const integer: Kind<number> = { ...digits, isSigned: true };

/** A number in base 36. In Lua it is a text. */
export const base36: Kind<number> = {
  js: '[\\dA-Za-z]',
  lua: '%w',
  length: '+',
  parse: (text) => parseInt(text, 36),
  print: (value) => value.toString(36),
};

const characters = { parse: String, print: String };

/** One small letter. */
export const letter: Kind<string> = { ...characters, js: '[a-z]', lua: '%l', length: 1 };

/** Small letters and underscores. */
export const letters: Kind<string> = { ...characters, js: '[a-z_]', lua: '[%l_]', length: '+' };

/** Any characters but white space of ASCII. */
export const word: Kind<string> = { ...characters, js: '[^\\t-\\r ]', lua: '%S', length: '+' };

/** All that follows. */
export const rest: Kind<string> = { ...characters, js: '[^]', lua: '.', length: '*' };

/** All that follows, at least a character. */
export const filled: Kind<string> = { ...rest, length: '+' };

/** `=` or `*`. */
export const mark: Kind<string> = { ...characters, js: '[=*]', lua: '[=*]', length: 1 };

/** Digits, or nothing. */
export const someDigits: Kind<string> = { ...characters, js: '\\d', lua: '%d', length: '*' };

/** Any characters but quotes. */
export const unquoted: Kind<string> = { ...characters, js: '[^"]', lua: '[^"]', length: '+' };

/** A whole number with so many digits, zeros in front. */
export const padded = (length: number): Kind<number> => ({
  ...digits,
  length,
  directive: `%0${length}d`,
  print: (value) => String(value).padStart(length, '0'),
});

/** So many capitals. */
export const capitals = (length: number): Kind<string> => ({ ...characters, js: '[A-Z]', lua: '%u', length });

/** So many characters of base64url. */
export const base64url = (length: number): Kind<string> => ({ ...characters, js: '[\\w-]', lua: '[%w_-]', length });

/** So many visible characters of ASCII. */
export const visible = (length: number): Kind<string> => ({ ...characters, js: '[!-~]', lua: '[!-~]', length });

export function optional<Value>(kind: Kind<Value>): Kind<Value | undefined> {
  return { ...kind, length: '*', isOptional: true, print: (value) => (value === undefined ? '' : kind.print(value)) };
}

/**
 * @param layout the text, with fields as in `<seq>:<balance> <key>`. An optional field and the one character before it stand in brackets:
 *   `<coins>[ <outcome>]`
 */
export function defineFormat<const Fields extends Kinds>(name: string, layout: string, fields: Fields): TextFormat<Fields> {
  const { parts, end } = layoutOf(name, layout, fields);
  const pattern = new RegExp(`^${parts.map(regExpOf).join('')}${escaped(end)}$`);
  const parse = (text: string): ValuesOf<Fields> | undefined => {
    const found = pattern.exec(text);
    if (found === null) return undefined;
    const values: Record<string, unknown> = {};
    for (const [index, { field, kind }] of parts.entries()) {
      const value = found[index + 1];
      values[field] = value === undefined ? undefined : kind.parse(value);
    }
    return values as ValuesOf<Fields>;
  };
  const write = (values: ValuesOf<Fields>): string => {
    let text = '';
    for (const { field, kind, before } of parts)
      if (kind.isOptional !== true || values[field] !== undefined) text += before + kind.print(values[field]);
    return text + end;
  };
  return {
    name,
    layout: { parts, end },
    parse,
    write,
    placeOf: (field) =>
      placeIn(
        parts,
        parts.findIndex((part) => part.field === field),
      ),
  };
}

/** @throws Error if the field's place differs from text to text */
export function placeIn(parts: Layout['parts'], index: number): [begin: number, end: number | undefined] {
  let begin = 0;
  for (const { before, kind } of parts.slice(0, index)) {
    if (typeof kind.length !== 'number') throw new Error(`the place of ${parts[index]!.field} is not fixed`);
    begin += before.length + kind.length;
  }
  const { before, kind } = parts[index]!;
  begin += before.length;
  if (typeof kind.length === 'number') return [begin, begin + kind.length];
  if (index < parts.length - 1) throw new Error(`the end of ${parts[index]!.field} is not fixed`);
  return [begin, undefined];
}

function layoutOf(name: string, layout: string, fields: Kinds): Layout {
  const parts: Layout['parts'][number][] = [];
  let before = '';
  for (const [token, bracketed, optionalField, plainField] of layout.matchAll(/\[(.)<(\w+)>\]|<(\w+)>|[^]/gs)) {
    const field = optionalField ?? plainField;
    if (field === undefined) {
      before += token;
      continue;
    }
    const kind = fields[field];
    const isSound =
      kind !== undefined && (kind.isOptional === true) === (bracketed !== undefined) && (bracketed === undefined || before === '');
    if (!isSound) throw new Error(`The field ${field} of ${name} is not declared as "${layout}" has it`);
    parts.push({ field, kind, before: bracketed ?? before });
    before = '';
  }
  if (parts.length !== Object.keys(fields).length) throw new Error(`"${layout}" lacks a field of ${name}`);
  return { parts, end: before };
}

function regExpOf({ kind: { js, length, isSigned, isOptional }, before }: Layout['parts'][number]): string {
  const field = `(${isSigned === true ? '-?' : ''}${js}${typeof length === 'number' ? `{${length}}` : length})`;
  return isOptional === true ? `(?:${escaped(before)}${field})?` : escaped(before) + field;
}

function escaped(literal: string): string {
  return literal.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&');
}
