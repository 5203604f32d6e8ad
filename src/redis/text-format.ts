/**
 * The format of a text in Redis that both TypeScript and Lua read or write, declared only once. TypeScript parses and writes the text with
 * the declaration. A Lua file names the format and the fields that it needs in a string, and `format-references.ts` replaces the string when the
 * script is defined, so that the script runs what one would write by hand:
 *
 * - `string.match(text, '<entry: seq, key>')`: a pattern of the text, with a capture for each named field
 * - `string.gmatch(lines, '<guest: id>')`, `string.gsub`: the same anywhere in a text with many texts of the format
 * - `string.format('<entry: seq, balance, key>', …)`: writes the fields as a text. Only optional fields may be left out
 * - `string.sub(text, '<member: player_id>')`: the first and the last character of a field of fixed length
 *
 * Without field names the string means all fields. `a..b` is the text from field `a` to field `b`, as one value. If the text lacks an
 * optional field, the field is '' in Lua.
 */
export interface TextFormat<Fields extends Kinds> {
  readonly name: string;
  readonly layout: Layout;
  /** @returns undefined if the text does not have the format */
  readonly parse: (text: string) => ValuesOf<Fields> | undefined;
  /** Does not check the values: `parse` cannot read a text that was written with wrong values. */
  readonly write: (values: ValuesOf<Fields>) => string;
  /**
   * Where a field begins and ends, for `slice`. All fields before it must have fixed lengths. End undefined: the field is the rest of the
   * text.
   */
  readonly placeOf: (field: keyof Fields) => [begin: number, end: number | undefined];
}

export type AnyFormat = Pick<TextFormat<Kinds>, 'name' | 'layout'>;

/** The type of the values of a format: `Parsed<typeof ledgerEntry>`. */
export type Parsed<Format extends { readonly parse: (text: string) => unknown }> = NonNullable<ReturnType<Format['parse']>>;

export interface Kind<Value> {
  /**
   * The characters that the field may have: `js` is part of a regular expression, `lua` of a Lua pattern. Both must match the same bytes.
   */
  readonly js: string;
  readonly lua: string;
  /** The number of characters: exactly this number, `+` for at least one, `*` for any number. */
  readonly length: '+' | '*' | number;
  readonly isSigned?: boolean;
  readonly isOptional?: boolean;
  /** The directive of string.format with which Lua writes the field. `%d` writes large numbers exactly. Default: `%s`. */
  readonly directive?: string;
  parse(text: string): Value;
  print(value: Value): string;
}

type Kinds = Readonly<Record<string, Kind<unknown>>>;

type ValuesOf<Fields extends Kinds> = {
  readonly [Name in keyof Fields]: ReturnType<Fields[Name]['parse']>;
};

interface Layout {
  /** `before` is the text between the previous field and this field. */
  readonly parts: readonly { readonly field: string; readonly kind: Kind<unknown>; readonly before: string }[];
  readonly end: string;
}

const digits = { js: '\\d', lua: '%d', length: '+', directive: '%d', parse: Number, print: String } as const;

/** A whole number that is not negative. */
export const whole: Kind<number> = digits;

export const integer: Kind<number> = { ...digits, isSigned: true };

/** A whole number that is not negative, or `-`. Lua reads it as a text. */
export const wholeOrDash: Kind<number | '-'> = {
  js: '[\\d-]',
  lua: '[%d-]',
  length: '+',
  parse: (text) => (/^\d+$/.test(text) ? Number(text) : '-'),
  print: String,
};

/** A number in base 36. Lua reads it as a text. */
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

/** Any characters except the white space of ASCII. */
export const word: Kind<string> = { ...characters, js: '[^\\t-\\r ]', lua: '%S', length: '+' };

/** The rest of the text. */
export const rest: Kind<string> = { ...characters, js: '[^]', lua: '.', length: '*' };

/** The rest of the line, or no character. */
export const restOfLine: Kind<string> = { ...characters, js: '[^\\n]', lua: '[^\n]', length: '*' };

/** The rest of the text, at least one character. */
export const filled: Kind<string> = { ...rest, length: '+' };

/** `=` or `*`. */
export const mark: Kind<string> = { ...characters, js: '[=*]', lua: '[=*]', length: 1 };

/** Digits, or no character. */
export const someDigits: Kind<string> = { ...characters, js: '\\d', lua: '%d', length: '*' };

/** Any characters but quotes. */
export const unquoted: Kind<string> = { ...characters, js: '[^"]', lua: '[^"]', length: '+' };

/** A whole number with exactly `length` digits, with leading zeros. */
export const padded = (length: number): Kind<number> => ({
  ...digits,
  length,
  directive: `%0${length}d`,
  print: (value) => String(value).padStart(length, '0'),
});

/** Exactly `length` capital letters. */
export const capitals = (length: number): Kind<string> => ({ ...characters, js: '[A-Z]', lua: '%u', length });

/** Exactly `length` characters of base64url. */
export const base64url = (length: number): Kind<string> => ({ ...characters, js: '[\\w-]', lua: '[%w_-]', length });

/** Exactly `length` visible characters of ASCII. */
export const visible = (length: number): Kind<string> => ({ ...characters, js: '[!-~]', lua: '[!-~]', length });

export function optional<Value>(kind: Kind<Value>): Kind<Value | undefined> {
  return { ...kind, length: '*', isOptional: true, print: (value) => (value === undefined ? '' : kind.print(value)) };
}

/**
 * @param layout the text, with fields as in `<seq>:<balance> <key>`. Brackets contain an optional field and the one character before it:
 * `<coins>[ <outcome>]`
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

/** @throws Error if the field does not begin and end at the same characters in all texts of the format */
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
