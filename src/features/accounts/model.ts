import { z } from 'zod';
import type { Services } from '../../declare.ts';
import { defineScript } from '../../redis/script.ts';
import type { Caller } from '../../server/identity/caller.ts';

export const InstallId = z
  .string()
  .regex(/^[\x21-\x7e]{8,128}$/, 'Must be 8 to 128 visible ASCII characters')
  .meta({ description: 'Identifier of an app install: a bearer secret, never shown to anybody else.' });

/** Where a session may stand in for it. */
export const OptionalInstallId = InstallId.optional();

export const AccountId = z.string().meta({ description: 'The account, for its owner only.' });

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

/** Opens the caller's account if this is its first write. Answers with the generation that a session would start from. */
export const openAccount = defineScript({
  file: new URL('open.lua', import.meta.url),
  keys: [],
  args: [],
  answers: ['created', 'found'],
  caller: 'writes',
});

const fieldsScript = defineScript({
  file: new URL('fields.lua', import.meta.url),
  keys: ['account'],
  args: ['fields'],
  answers: ['fields'],
  caller: 'reads',
  readOnly: true,
});

/** Fields of the caller's account, in one round trip. A field that was never set reads as ''. */
export async function readFields<const Field extends string>(
  caller: Caller,
  fields: readonly Field[],
  { scripts }: Services,
): Promise<Record<Field, string>> {
  const [, ...values] = await scripts.runAs(caller, fieldsScript, { account: caller.accountKey }, { fields: fields.join(' ') });
  return Object.fromEntries(fields.map((field, index) => [field, values[index]])) as Record<Field, string>;
}
