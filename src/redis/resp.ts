import { isAscii } from 'node:buffer';

// The part of RESP that scripts and subscriptions need: https://redis.io/docs/latest/develop/reference/protocol-spec/

/** Encodes a command as an array of bulk strings. */
export function encodeCommand(command: string, words: readonly (string | number)[]): string {
  const text = encoded(command, words, (word) => word.length);
  // RESP counts bytes. One check of the whole text is cheaper than a check of each word, and almost every word is ASCII.
  return Buffer.byteLength(text) === text.length ? text : encoded(command, words, (word) => Buffer.byteLength(word));
}

/**
 * Encodes a command by appending to a text piece by piece. V8 keeps the pieces as a tree until the text is measured, and then makes one
 * flat string. In batches of 8 that takes 0.65 µs for a submission of a score and 0.18 µs for a balance. Joining a list of lines took 1.07
 * and 0.23 µs.
 */
function encoded(command: string, words: readonly (string | number)[], lengthOf: (word: string) => number): string {
  let text = `*${words.length + 1}\r\n$${command.length}\r\n${command}`;
  for (const given of words) {
    const word = typeof given === 'string' ? given : String(given);
    const length = lengthOf(word);
    text = text + (LENGTHS[length] ?? `\r\n$${length}\r\n`) + word;
  }
  return `${text}\r\n`;
}

/** The length lines for words of 0 to 255 bytes, made once and not for each word. */
const LENGTHS = Array.from({ length: 256 }, (_, length) => `\r\n$${length}\r\n`);

/** A reply, in the types that scripts and subscriptions expect: a text, an integer, null, an error, or a list. */
export type Reply = string | number | null | Error | Reply[];

/** The most characters of a value that is cut from the text of a piece. V8 keeps a longer slice as a reference to the whole piece. */
const COPIED_LENGTH = 12;

/** Stands for a value of which not all bytes have arrived. */
const INCOMPLETE = Symbol('incomplete');

/** A list whose items have not all arrived. */
interface OpenList {
  readonly items: Reply[];
  readonly length: number;
}

/**
 * Reads replies from the pieces of data that a connection receives. No value is read twice: the beginning of a long list, such as the
 * answers of many calls, is kept until the rest arrives. Reading such a list from its start again with each piece cost six times the CPU
 * over TLS.
 *
 * A piece becomes a text with one character for each byte, so that RESP's lengths count characters and a short value is a slice of the
 * text. Values that are not ASCII are decoded again. Long values are copied, because a slice would keep the whole piece in memory.
 */
export class ReplyReader {
  /** Data that is not read yet. `#neededBytes` says how many bytes must have arrived before reading can go on. */
  #rest: Buffer[] = [];
  #restBytes = 0;
  #neededBytes = 0;
  #bytes: Buffer = Buffer.alloc(0);
  #text = '';
  #at = 0;
  #isAscii = true;
  /** The lists around the next value, the outermost first. */
  readonly #open: OpenList[] = [];

  /**
   * Yields the replies that this piece completes, in their order. The caller may reuse the piece's memory once it has read all replies.
   * @throws Error if the data is not RESP
   */
  *read(piece: Buffer): Generator<Reply> {
    this.#restBytes += piece.length;
    if (this.#restBytes < this.#neededBytes) {
      this.#rest.push(Buffer.from(piece));
      return;
    }
    this.#rest.push(piece);
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
        this.#rest = this.#restBytes === 0 ? [] : [Buffer.from(this.#bytes.subarray(begin))];
        if (this.#neededBytes > 0) this.#neededBytes -= begin;
        return;
      }
      const reply = value === undefined ? undefined : this.#placed(value);
      if (reply !== undefined) yield reply;
    }
  }

  /** Adds a value to the list to which the value belongs. @returns the reply that the value completes, if any */
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

  /** Reads the next value. Undefined: a list begins here, and its items follow. */
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
      // The type `>` is a push, such as a message on a channel.
      case '>':
        return this.#list(Number(line));
      // The type of a map, such as the answer to HELLO: keys and values follow one after the other.
      case '%':
        return this.#list(2 * Number(line));
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
