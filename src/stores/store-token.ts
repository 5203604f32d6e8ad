import { z } from 'zod';
import { MAX_TOKEN_LENGTH } from './store.ts';

export const StoreToken = z
  .string()
  .regex(new RegExp(`^[\\x21-\\x7e]{1,${MAX_TOKEN_LENGTH}}$`), `Must be 1 to ${MAX_TOKEN_LENGTH} visible ASCII characters`);
