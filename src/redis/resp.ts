import { isAscii } from 'node:buffer';

// RESP, as far as scripts speak it: https://redis.io/docs/latest/develop/reference/protocol-spec/

/** A command as Redis reads it. */
export function encodeCommand(command: string, words: readonly (string | number)[]): string {
  const text = encoded(command, words, (word) => word.length);
  // Redis counts bytes. Looking at the whole once is cheaper than at each word, and hardly any word is not ASCII.
  return Buffer.byteLength(text) === text.length ? text : encoded(command, words, (word) => Buffer.byteLength(word));
}

/** Lines, for joined they are one flat text at once: put together bit by bit it would be a tree of bits. */
function encoded(command: string, words: readonly (string | number)[], lengthOf: (word: string) => number): string {
  const lines = [`*${words.length + 1}`, `$${command.length}`, command];
  for (const given of words) {
    const word = typeof given === 'string' ? given : String(given);
    const length = lengthOf(word);
    lines.push(LENGTHS[length] ?? `$${length}`, word);
  }
  lines.push('');
  return lines.join('\r\n');
}

const LENGTHS = Array.from({ length: 256 }, (_, length) => `$${length}`);

/** A reply, as far as scripts give any: texts, whole numbers, lists of them, nothing, or an error. */
export type Reply = string | number | null | Error | Reply[];

/** V8 keeps a part of a text that is longer than this as a reference to the whole. */
const COPIED_LENGTH = 12;

/** Not all of it is there yet. */
const INCOMPLETE = Symbol('incomplete');

/** A list of which some is there. */
interface OpenList {
  readonly items: Reply[];
  readonly length: number;
}

/**
 * Reads replies out of what a connection brings, piece by piece. What was read once is not read again: of a long list, such
 * as the answers of many calls, the beginning is kept until the rest is there.
 *
 * A piece becomes a text of one character a byte, so that RESP's lengths count characters, and a short value is a slice
 * of it; what is not ASCII is decoded anew, and long values are copied, for a slice would keep the whole piece in memory.
 */
export class ReplyReader {
  /** What is not read yet, and how many bytes there have to be before it is worth a look. */
  #rest: Buffer[] = [];
  #restBytes = 0;
  #neededBytes = 0;
  #bytes: Buffer = Buffer.alloc(0);
  #text = '';
  #at = 0;
  #isAscii = true;
  /** The lists around what is read next, the outermost first. */
  readonly #open: OpenList[] = [];

  /** The replies that are whole with this piece, in their order. @throws Error where that is no RESP */
  *read(piece: Buffer): Generator<Reply> {
    this.#rest.push(piece);
    this.#restBytes += piece.length;
    if (this.#restBytes < this.#neededBytes) return;
    this.#bytes = this.#rest.length === 1 ? piece : Buffer.concat(this.#rest);
    this.#text = this.#bytes.toString('latin1');
    this.#isAscii = isAscii(this.#bytes);
    this.#at = 0;
    for (;;) {
      const begin = this.#at;
      this.#neededBytes = 0;
      const value = this.#next();
      if (value === INCOMPLETE) {
        this.#restBytes = this.#bytes.length - begin;
        this.#rest = this.#restBytes === 0 ? [] : [this.#bytes.subarray(begin)];
        if (this.#neededBytes > 0) this.#neededBytes -= begin;
        return;
      }
      const reply = value === undefined ? undefined : this.#placed(value);
      if (reply !== undefined) yield reply;
    }
  }

  /** Puts a value into the list that it belongs to. The reply that is whole with it, if one is. */
  #placed(value: Reply): Reply | undefined {
    let placed = value;
    for (let list = this.#open.at(-1); list !== undefined; list = this.#open.at(-1)) {
      list.items.push(placed);
      if (list.items.length < list.length) return undefined;
      this.#open.pop();
      placed = list.items;
    }
    return placed;
  }

  /** A value; undefined where a list begins. */
  #next(): Reply | typeof INCOMPLETE | undefined {
    const end = this.#text.indexOf('\r\n', this.#at);
    if (end === -1) return INCOMPLETE;
    const type = this.#text[this.#at];
    const line = this.#text.slice(this.#at + 1, end);
    this.#at = end + 2;
    switch (type) {
      case '$':
        return this.#bulk(Number(line));
      case '*':
      // What was not asked for, such as a message on a channel.
      case '>':
        return this.#list(Number(line));
      case '+':
        return line;
      case ':':
        return Number(line);
      case '-':
        return new Error(this.#decoded(line));
      case '_':
        return null;
      default:
        throw new Error(`redis sent a reply of an unknown type: ${type}`);
    }
  }

  #bulk(length: number): string | null | typeof INCOMPLETE {
    if (length === -1) return null;
    const start = this.#at;
    const end = start + length;
    if (this.#text.length < end + 2) {
      this.#neededBytes = end + 2;
      return INCOMPLETE;
    }
    this.#at = end + 2;
    if (length > COPIED_LENGTH) return this.#bytes.toString(this.#isAscii ? 'latin1' : 'utf8', start, end);
    return this.#decoded(this.#text.slice(start, end));
  }

  #list(length: number): Reply | undefined {
    if (length === -1) return null;
    if (length === 0) return [];
    this.#open.push({ items: [], length });
    return undefined;
  }

  #decoded(text: string): string {
    return this.#isAscii ? text : Buffer.from(text, 'latin1').toString();
  }
}
