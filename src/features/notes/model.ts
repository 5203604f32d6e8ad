import { hash } from 'node:crypto';
import { defineFormat, filled, restOfLine, whole } from '../../redis/text-format.ts';

/** The most characters of a note. */
export const MAX_NOTE_LENGTH = 500;

/** The most notes that operators can write on an account. Guests that move in bring theirs. */
export const MOST_NOTES = 100;

/** A value of the hash of an account's notes. `plainText` lets no line break into the fields. */
export const noteText = defineFormat('note', '<at> <by>\n<reason>\n<text>', {
  /** Milliseconds since 1970. */
  at: whole,
  by: restOfLine,
  reason: restOfLine,
  text: filled,
});

export const notesKey = (accountId: string): string => `{${accountId}}:notes`;

/** The id of a note: the same for a call and its repetition, which writes nothing. */
export function noteIdOf({ by, reason, text }: { readonly by: string; readonly reason: string; readonly text: string }): string {
  return hash('sha256', JSON.stringify([by, reason, text]), 'base64url').slice(0, 12);
}
