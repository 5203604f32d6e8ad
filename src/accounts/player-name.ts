import { z } from 'zod';

/** In characters as Unicode counts them (code points), not in UTF-16 units. */
export const MAX_NAME_LENGTH = 24;

/**
 * In UTF-16 units, before NFC and trim: room for 24 characters of which each is written as four, and for blanks around them.
 * Normalising takes time with the square of the length where marks follow marks: 8,000 took 95 ms, these 0.03.
 */
const LONGEST_TYPED = 256;

/** Bidi controls turn the text around them, so that one name passes for another; half a surrogate pair is no character. */
const FORBIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/u;

/**
 * A name of joiners, marks and blanks alone would look like none. Some letters and symbols are blank too: those that Unicode
 * lets a font leave out (DerivedCoreProperties.txt: Default_Ignorable_Code_Point, the Hangul fillers among them), and those
 * that its charts name as blank: Braille pattern blank, musical symbol null notehead, Egyptian hieroglyph full and half
 * blank, object replacement character.
 */
const VISIBLE = /[[\p{L}\p{N}\p{P}\p{S}]--[\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}\u{13441}\u{13442}]]/v;

/** The name a player is shown by to others. Comes out in Unicode's form NFC, trimmed. */
export const PlayerName = z
  .string()
  .refine((text) => text.length <= LONGEST_TYPED, { error: `Must be 1 to ${MAX_NAME_LENGTH} characters`, abort: true })
  .normalize('NFC')
  .trim()
  .refine((name) => name !== '' && [...name].length <= MAX_NAME_LENGTH, `Must be 1 to ${MAX_NAME_LENGTH} characters`)
  .refine((name) => !FORBIDDEN.test(name), 'Must hold no control or bidirectional characters')
  .refine((name) => name === '' || VISIBLE.test(name), 'Must hold a visible character')
  .meta({
    minLength: 1,
    maxLength: MAX_NAME_LENGTH,
    description: `Shown to others: 1 to ${MAX_NAME_LENGTH} characters after NFC and trim, no control or bidirectional ones.`,
  });
