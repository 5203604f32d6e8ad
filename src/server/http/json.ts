/**
 * A number or a text in a request's JSON that the service cannot keep as the client sent it. `parseJson` puts an `Unkept` in its place. A
 * shape that expects a certain type then refuses the field, and a field that no shape declares is ignored as always. An `Unkept` is a
 * function, because no shape accepts a function. An object would not be refused everywhere: a shape whose fields are all optional accepts
 * any object.
 */
interface Unkept {
  (): void;
  readonly message: string;
  /**
   * Throws. A shape that takes any JSON must check with `unkeptIn`. If it does not, this method makes the request fail when the value is
   * stored, so that no other value is stored in its place.
   */
  toJSON(): never;
}

function unkept(message: string): Unkept {
  const toJSON = (): never => {
    throw new Error('a shape of any JSON did not ask for unkept values');
  };
  return Object.assign(() => {}, { message, toJSON });
}

const isUnkept = (value: unknown): value is Unkept => typeof value === 'function';

const IS_OUT_OF_RANGE = unkept('Must be a number within the range of doubles');
const IS_INEXACT = unkept('Must be a whole number that a double holds exactly, or a text');
const HAS_HALVES = unkept('Must have no half surrogates');
const HAS_HALVES_IN_NAME = unkept('Must have a name without half surrogates');

/** The first value within a list or an object that cannot be kept: its path, and the reason. */
interface UnkeptBelow {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

const BELOW = Symbol('unkept value below');

/**
 * The first part of a JSON value of any shape that cannot be kept: its path within the value, and the reason. Undefined if the whole value
 * can be kept.
 */
export function unkeptIn(value: unknown): UnkeptBelow | undefined {
  if (isUnkept(value)) return { path: [], message: value.message };
  return typeof value === 'object' && value !== null ? (value as { [BELOW]?: UnkeptBelow })[BELOW] : undefined;
}

/** What is wrong with the value that an issue of zod is about: why it cannot be kept, that it is missing, or else what zod says. */
export function problemOf(json: unknown, { path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }): string {
  let value = json;
  for (const name of path) value = typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[name] : undefined;
  if (isUnkept(value)) return value.message;
  return value === undefined && message.startsWith('Invalid input: expected') ? 'Is missing' : message;
}

/**
 * Parses the JSON of a client. A whole number that no double holds, a number beyond the range of doubles and a text with half a surrogate
 * pair become `Unkept`: JSON.parse would change the numbers (RFC 8259, section 6), and UTF-8 cannot hold the text (section 8.2). Decimals
 * are rounded, as every reader of JSON does.
 * @param text nested at most MAX_JSON_DEPTH levels deep
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return MAY_BE_UNKEPT.test(text) ? new Walk(text).of(value) : value;
}

/** Matches every text that has an unkept value, and few others. The parts of the pattern never overlap, so it takes linear time. */
const MAY_BE_UNKEPT = /[:,[][ \t\r\n]*-?(?:\d{16}|\d[\d.]*[eE]\+?\d{3})|\\u[dD][89a-fA-F]/;

const HALF_SURROGATE = /\\u[dD][89a-fA-F]/;
const NUMBER_CHARACTERS = /[\d+\-.eE]*/y;

/** Walks through a text and the value that JSON.parse made of it, side by side. A reviver would take 30 times as long. */
class Walk {
  readonly #text: string;
  /** The lists and objects around the present position, and for each of them the index or the name of its present member. */
  readonly #around: unknown[] = [];
  readonly #path: (string | number)[] = [];
  #isAtName = false;
  /** Why the current member's name cannot be kept; undefined if it can be kept. */
  #ofName: Unkept | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  of(value: unknown): unknown {
    const root = [value];
    this.#around.push(root);
    this.#path.push(0);
    for (let at = 0; at < this.#text.length; at++) at = this.#read(at);
    return root[0];
  }

  /** Reads the next part of the text. @returns the index of the last character that was read */
  #read(at: number): number {
    const character = this.#text[at]!;
    if (character === '"') return this.#readText(at);
    if (character === '{' || character === '[') this.#enter(character === '{');
    else if (character === '}' || character === ']') this.#leave();
    else if (character === ',') this.#next();
    else if (character === ':') this.#isAtName = false;
    else if (character === '-' || (character >= '0' && character <= '9')) return this.#readNumber(at);
    else if (character === 't' || character === 'f' || character === 'n') return this.#readWord(at, character);
    return at;
  }

  #enter(isObject: boolean): void {
    this.#replace(this.#ofName);
    this.#around.push(this.#ofName === undefined ? ownMember(this.#around.at(-1), this.#path.at(-1)!) : undefined);
    this.#path.push(isObject ? '' : 0);
    this.#isAtName = isObject;
    this.#ofName = undefined;
  }

  #leave(): void {
    this.#around.pop();
    this.#path.pop();
    this.#isAtName = false;
    this.#ofName = undefined;
  }

  #next(): void {
    const last = this.#path.length - 1;
    const member = this.#path[last]!;
    this.#ofName = undefined;
    if (typeof member === 'number') this.#path[last] = member + 1;
    else this.#isAtName = true;
  }

  #readText(start: number): number {
    let end = start + 1;
    while (this.#text[end] !== '"') end += this.#text[end] === '\\' ? 2 : 1;
    const json = this.#text.slice(start, end + 1);
    if (this.#isAtName) {
      const name = JSON.parse(json) as string;
      this.#path[this.#path.length - 1] = name;
      this.#ofName = name.isWellFormed() ? undefined : HAS_HALVES_IN_NAME;
    } else {
      const isKept = !HALF_SURROGATE.test(json) || (JSON.parse(json) as string).isWellFormed();
      this.#replace(this.#ofName ?? (isKept ? undefined : HAS_HALVES));
    }
    return end;
  }

  #readNumber(start: number): number {
    NUMBER_CHARACTERS.lastIndex = start;
    const [digits] = NUMBER_CHARACTERS.exec(this.#text)!;
    this.#replace(this.#ofName ?? problemOfNumber(digits));
    return start + digits.length - 1;
  }

  /** Reads true, false or null. */
  #readWord(start: number, letter: string): number {
    this.#replace(this.#ofName);
    return start + (letter === 'f' ? 'false' : 'true').length - 1;
  }

  /** Replaces the present member by `Unkept`, and notes the member's path on all lists and objects that contain it. */
  #replace(problem: Unkept | undefined): void {
    if (problem === undefined) return;
    const depth = this.#around.length - 1;
    const name = this.#path[depth]!;
    // If a name comes twice in an object, JSON.parse keeps its last value, which is replaced when its text is reached.
    if (ownMember(this.#around[depth], name) === undefined) return;
    setOwn(this.#around[depth] as object, name, problem);
    // If a list or object has a note already, so have all lists and objects that contain it.
    for (let level = depth; level > 0 && !hasNote(this.#around[level]); level--)
      noteBelow(this.#around[level], { path: this.#path.slice(level), message: problem.message });
  }
}

/**
 * Why a number cannot be kept. A whole number can be kept if a double has exactly its value, or if JSON.stringify would write the same
 * digits that were sent.
 */
function problemOfNumber(digits: string): Unkept | undefined {
  const number = Number(digits);
  if (!Number.isFinite(number)) return IS_OUT_OF_RANGE;
  if (digits.length < FEWEST_INEXACT_DIGITS || !/^-?\d+$/.test(digits)) return undefined;
  return String(number) === digits || BigInt(number) === BigInt(digits) ? undefined : IS_INEXACT;
}

/** The fewest digits of a whole number that may be inexact: every number of 15 digits is below 2^53. */
const FEWEST_INEXACT_DIGITS = 16;

function ownMember(container: unknown, name: string | number): unknown {
  return typeof container === 'object' && container !== null && Object.hasOwn(container, name)
    ? (container as Record<string | number, unknown>)[name]
    : undefined;
}

function hasNote(container: unknown): boolean {
  return Object.hasOwn(container as object, BELOW);
}

function noteBelow(container: unknown, below: UnkeptBelow): void {
  Object.defineProperty(container, BELOW, { value: below });
}

/** Sets a member, even one named `__proto__`. An assignment to that name would set the prototype, and the member would be lost. */
export function setOwn(container: object, name: string | number, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(container, name, { value, enumerable: true, configurable: true, writable: true });
  else (container as Record<string | number, unknown>)[name] = value;
}
