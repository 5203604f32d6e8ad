import { isAscii } from 'node:buffer';

// RESP, as far as scripts speak it: https://redis.io/docs/latest/develop/reference/protocol-spec/

/** A command as Redis reads it. */
export function encodeCommand(command: string, words: readonly (string | number)[]): string {
  const text = encoded(command, words, (word) => word.length);
  // Redis counts bytes. Looking at the whole once is cheaper than at each word, and hardly any word is not ASCII.
  return Buffer.byteLength(text) === text.length ? text : encoded(command, words, (word) => Buffer.byteLength(word));
}

function encoded(command: string, words: readonly (string | number)[], lengthOf: (word: string) => number): string {
  let text = `*${words.length + 1}\r\n$${command.length}\r\n${command}\r\n`;
  for (const given of words) {
    const word = typeof given === 'string' ? given : String(given);
    text += `$${lengthOf(word)}\r\n${word}\r\n`;
  }
  return text;
}

/** A reply, as far as scripts give any: texts, whole numbers, lists of them, nothing, or an error. */
export type Reply = string | number | null | Error | Reply[];

/** Longer values are texts of their own. */
const LONG_BYTES = 256;

/** Not all of it is there yet. */
const INCOMPLETE = Symbol('incomplete');

/**
 * Reads replies out of what a connection brings, piece by piece.
 *
 * A piece becomes a text of one character a byte, so that RESP's lengths count characters, and a value is a slice of it;
 * only what is not ASCII is decoded anew.
 */
export class ReplyReader {
  #rest: Buffer | undefined;
  #bytes: Buffer = Buffer.alloc(0);
  #text = '';
  #at = 0;
  #isAscii = true;

  /** The replies that are whole with this piece, in their order. @throws Error where that is no RESP */
  *read(piece: Buffer): Generator<Reply> {
    const bytes = this.#rest === undefined ? piece : Buffer.concat([this.#rest, piece]);
    this.#rest = undefined;
    this.#bytes = bytes;
    this.#text = bytes.toString('latin1');
    this.#isAscii = isAscii(bytes);
    this.#at = 0;
    while (this.#at < this.#text.length) {
      const begin = this.#at;
      const reply = this.#next();
      if (reply === INCOMPLETE) {
        this.#rest = bytes.subarray(begin);
        return;
      }
      yield reply;
    }
  }

  #next(): Reply | typeof INCOMPLETE {
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
    const end = this.#at + length;
    if (this.#text.length < end + 2) return INCOMPLETE;
    const start = this.#at;
    this.#at = end + 2;
    // A slice keeps the whole piece in memory for as long as somebody keeps the slice.
    return length > LONG_BYTES ? this.#bytes.toString('utf8', start, end) : this.#decoded(this.#text.slice(start, end));
  }

  #list(length: number): Reply[] | null | typeof INCOMPLETE {
    if (length === -1) return null;
    const list: Reply[] = [];
    while (list.length < length) {
      const item = this.#next();
      if (item === INCOMPLETE) return INCOMPLETE;
      list.push(item);
    }
    return list;
  }

  #decoded(text: string): string {
    return this.#isAscii ? text : Buffer.from(text, 'latin1').toString();
  }
}
