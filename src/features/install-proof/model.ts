import type { Services } from '../../declare.ts';
import { z } from 'zod';

/** The services of the endpoints of an install proof. */
export type ProofServices = Pick<Services, 'scripts' | 'stores' | 'now'>;

/** How long a nonce is valid, in seconds. The time is enough for Google's attestation, even over a slow link. */
export const NONCE_LIFE_SECONDS = 300;

/** A nonce: 32 random bytes in base64url. */
export const Nonce = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43}$/, 'Must be a nonce of this service: 43 characters of base64url')
  .meta({
    description: 'The nonce is valid for one install proof, within 5 minutes.',
    example: 'q2Jx7Lk0sVnB4wYtR8mZcD1fHgP5uEoA3iXyTlKrNQs',
  });

/** A hash for each nonce: `owner` (the account that requested the nonce, or '') and `expiresAt` (in milliseconds since 1970). */
export const nonceKey = (nonce: string): string => `{nonce:${nonce}}`;
