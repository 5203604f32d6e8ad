import { z } from 'zod';

/** The `nonce` of an ID token, which an app has chosen. */
export const Nonce = z.string().regex(/^[\x21-\x7e]{1,255}$/, 'Must be 1 to 255 visible ASCII characters');
