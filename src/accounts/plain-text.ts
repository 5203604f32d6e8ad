import { z } from 'zod';
import { FORBIDDEN_IN_NAMES } from './player-name.ts';

/** The most characters of the reason that an operator gives for a change. */
export const MAX_REASON_LENGTH = 120;

/** The most UTF-16 units of a text before it is normalised and trimmed. The bound is checked before any other work on the text. */
const MOST_RAW = 1024;

/**
 * The shape of text for ledgers, logs and operators' tables: trimmed, in Unicode's form NFC, without control characters.
 * @param most characters
 */
export const plainText = (most: number) =>
  z
    .string()
    .refine((text) => text.length <= MOST_RAW, { error: `Must be 1 to ${most} characters`, abort: true })
    .normalize('NFC')
    .trim()
    .refine((text) => text !== '' && [...text].length <= most, `Must be 1 to ${most} characters`)
    .refine((text) => !FORBIDDEN_IN_NAMES.test(text), 'Must hold no control or bidirectional characters');
