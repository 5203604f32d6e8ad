import { z } from 'zod';

const RULE = 'Must be a whole number from 1 to 100';

/** As a query has it: text. */
export const Limit = z
  .string()
  .regex(/^\d{1,3}$/, { error: RULE, abort: true })
  .refine((text) => Number(text) >= 1 && Number(text) <= 100, RULE)
  .optional()
  .meta({ type: 'integer', minimum: 1, maximum: 100, description: 'Entries per page, 1 to 100. The default is 50.' });

export function limitOf(text: string | undefined): number {
  return Number(text ?? 50);
}
